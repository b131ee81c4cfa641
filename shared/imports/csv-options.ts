import type {CsvReader} from './reader.ts'

/** What the parser is told by a reader, whichever part of the file it reads. */
export const parserOptionsOf = ({delimiter, quote, comment}: CsvReader) => ({
  bom: true,
  delimiter,
  quote,
  escape: quote,
  comment,
  comment_no_infix: true,
  relax_column_count: true,
  skip_empty_lines: true,
  record_delimiter: ['\r\n', '\n', '\r'],
})
