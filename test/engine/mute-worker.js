/** A worker that cannot even begin, as with a library that does not load. */
process.exit(3)
