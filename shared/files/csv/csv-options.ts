import type {CsvReader} from '../reader.ts'

/** Reading the whole file and reading its first rows must use the same options of csv-parse. */
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
