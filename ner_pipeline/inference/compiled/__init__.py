"""The compiled extractor: a spaCy NER network computed by arrays instead of by layers and states.

It gives the entities that spaCy gives, about ten times as fast on the same core. That equality is its
contract; what it cannot give exactly it refuses (`coverage`), and spaCy computes. A text goes this way:

    lexicon     text -> tokens, by looking up white-space separated pieces  (spaCy fills it; `joints`)
    token_types token -> type: all that the network reads of a token, each once
    embedding   type  -> row: hash embedding, static vector, mixer           (once per type, then a look-up)
    encoder     rows  -> token vectors: residual maxout windows, in blocks with a halo
    decoder     token vectors -> entities: all tokens at once, then all open entities at once
    network     the three above behind one door; it sees types and gives token spans

`weights` reads the numbers out of a loaded pipeline, `kernels` holds the one pass that is written three
times (Numba, NumPy, CUDA), `referee` lets spaCy decide where rounding would, `extractor` puts the parts
together and is the only one that knows of files. Nothing here knows of processes.

Words: a *type* is a distinct row of token attributes; a *place* is a position in a window, from the left;
a *piece* of maxout is one of its linear functions, a *piece* of text what stands between white space.
"""
