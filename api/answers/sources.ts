import {z} from 'zod'
import {Choices} from '../../shared/files/choices.ts'
import {Cleaning} from '../../shared/files/cleaning/cleaning.ts'
import {Reader, ReaderOptions} from '../../shared/files/reader.ts'
import {Answer, Bytes, Count, Id, Moment} from './common.ts'

export const RowNumber = (what: string) => z.int().positive().describe(`${what}. Rows count from 1, without the header`)

const Found = (what: string) =>
  Answer({count: Count('Number of cells'), firstRow: RowNumber('Row of the first of them')})
    .nullable()
    .describe(`${what}. Null: none`)

const Rows = (what: string) =>
  Answer({
    count: Count('Number of rows'),
    firstRow: RowNumber('The first of them').nullable().describe('The first of them, from 1. Null: none'),
  }).describe(what)

const ColumnEvidence = Answer({
  name: z.string().describe('Name of the column, from the header or its number'),
  kinds: z
    .partialRecord(
      z.enum(['integer', 'decimal', 'boolean', 'date', 'email', 'url', 'phone', 'text']),
      Count('Cells that look like this kind'),
    )
    .describe('Cells by kind; absent kinds are omitted. Blank cells are in `empties`. `0` and `1` are integers'),
  empties: Count('Blank cells'),
  distinct: Answer({
    count: Count('Exact number up to 1,000; up to fewer in a file with more than 200 columns'),
    more: z.boolean().describe('Whether there are more than `count`'),
    about: Count('Estimated number, usually within 5 %. Only if there are more than `count`').optional(),
  }).describe('Distinct values. Blank cells are not counted'),
  longest: Count('Characters of the longest cell'),
  dates: Answer({
    dmy: Count('Only day, month, year'),
    mdy: Count('Only month, day, year'),
    ymd: Count('Only year, month, day'),
    ambiguous: Count('Several orders are possible'),
  }).describe('Dates by possible order. If only ambiguous ones occur, a person must choose the order'),
  shortYears: Count(
    'Dates in numbers with a year of two digits, which are read only with the `format` of a mapping. Absent if there are none',
  ).optional(),
  marks: Answer({
    point: Count('Certainly with a decimal point'),
    comma: Count('Certainly with a decimal comma'),
    ambiguous: Count('Ambiguous, such as `1,234`'),
  }).describe('Numbers by their decimal mark, including `amounts`'),
  amounts: Count(
    'Texts such as `$900`: numbers with a currency or percent sign or no-break spaces. Only if at least two thirds of the values are numbers or such texts',
  ).optional(),
  leadingZeros: Found('Values such as `007`, which a number would change'),
  beyond53: Found('Integers beyond 2^53, which a number would change'),
  replaced: Found('Cells with U+FFFD: text was lost before the upload'),
  escapedQuotes: Answer({count: Count('Number of cells'), firstRow: RowNumber('Row of the first of them')})
    .optional()
    .describe('Cells such as `"5\\" pipe"`, whose quotes have a backslash instead of being doubled. Absent if there are none'),
  samples: z.array(z.string()).describe('The first five distinct values, cut at 200 characters'),
  stored: z
    .partialRecord(
      z.enum(['text', 'number', 'date', 'boolean', 'error', 'uncalculated', 'undated', 'percent', 'scaled', 'padded']),
      Count('Cells stored this way'),
    )
    .optional()
    .describe(
      'For a workbook: cells by how they are stored. `uncalculated`: formulas without a value. `undated`: formatted as a date but not a valid one. `percent`: displayed with `%`. `scaled`: displayed in thousands or millions. `padded`: displayed with zeros or signs that are not stored, such as 00501',
    ),
  formatted: Answer({
    displayed: z.string().meta({description: 'As displayed, without the sign of a percentage or currency', examples: ['25']}),
    stored: z.string().meta({description: 'As stored in the file', examples: ['0.25']}),
  })
    .optional()
    .describe('For a workbook: the first number whose displayed text differs from its value'),
  numbers: z
    .enum(['displayed', 'stored'])
    .optional()
    .describe('For a workbook: how numbers are read if displayed and stored values differ. Change it with `choices`'),
}).meta({id: 'ColumnEvidence', description: 'Statistics of a column'})

const Problem = Answer({
  kind: z
    .enum([
      'encoding',
      'undecodable',
      'ambiguous',
      'escaped',
      'lost',
      'ragged',
      'quote',
      'merged',
      'uncalculated',
      'error',
      'undated',
      'header',
      'sheet',
    ])
    .describe(
      '`encoding`: the encoding could not be detected; a person must choose it before a run. `undecodable`: some bytes are not valid in the encoding; a person must accept them before a run. `ambiguous`: a person must choose. `escaped`: quotes inside quoted cells have a backslash instead of being doubled, so the cells are read with both. `lost`: characters were lost before the upload. `ragged`: rows do not fit the header. `quote`: rows have a cell that may contain other rows, because its quote seems not to be closed; a person must accept them before they are written. `merged`, `uncalculated`, `undated`: cells of a workbook hold something other than they show. `error`: cells of a workbook hold errors, such as `#N/A`. `header`: the first row looks like a title, and another like the header. `sheet`: the first sheet has no rows, so another is read',
    ),
  column: z.string().nullable().describe('The column. Null: the whole file'),
  message: z.string().describe('What is wrong, in words'),
  fix: z.string().describe('How to fix it, in words'),
  reader: ReaderOptions.optional().describe('Reader options that fix it, for `PATCH` of the source. Only if known'),
}).meta({id: 'SourceProblem', description: 'A problem of a file that a person should know or decide before importing'})

const Sheet = Answer({
  name: z.string().describe('Name of the sheet'),
  state: z.enum(['visible', 'hidden', 'very hidden']).describe('Whether a spreadsheet program shows it'),
  rows: Count('Rows below its first row with a cell')
    .optional()
    .describe(
      'Rows below its first row with a cell, counted at the upload. Left out for the sheet that is read, and for sheets that are too long to count',
    ),
})

const SniffedCsv = Answer({
  encoding: z.string().meta({description: 'By its WHATWG name', examples: ['utf-8']}),
  how: z
    .enum(['stated', 'content type', 'template', 'byte order mark', 'utf-8', 'ascii', 'zero bytes', 'fallback'])
    .describe(
      'Why this encoding. `stated`: a reader option. `content type`: the charset of the upload. `template`: stored in the template. `ascii`: the file is pure ASCII. `fallback`: a guess',
    ),
  delimiter: z.string().describe('The character between cells'),
  delimiterHow: z.enum(['stated', 'sep line', 'counted', 'single column']).describe('Why this delimiter'),
  skipRows: Count('Lines skipped above the header'),
  convertedFrom: z
    .enum(['json', 'query'])
    .optional()
    .describe('Set if Lading wrote the CSV file, from JSON or the rows of a query. The reader options of a template then do not apply'),
}).describe('Detected options of a CSV file')

const SniffedWorkbook = Answer({
  sheet: z.string().describe('The sheet to read'),
  how: z.enum(['stated', 'only', 'first visible', 'first with rows']).describe('Why this sheet'),
  passed: z.string().optional().describe('The first visible sheet, if it was skipped because it has no rows'),
  sheets: z.array(Sheet).describe('All worksheets'),
}).describe('Detected options of a workbook')

const TextFound = Answer({
  bad: Answer({
    places: Count('Places whose bytes are not valid in the encoding'),
    rows: Count('Rows with such a place'),
    firstRows: z.array(RowNumber('A row')).describe('The first 20 of them'),
    header: z.boolean().describe('Whether the header has such a place'),
  })
    .nullable()
    .describe('Bytes that are not valid in the encoding of the file. Null: none'),
  candidates: z
    .array(
      Answer({
        encoding: z.string().meta({description: 'By its WHATWG name', examples: ['windows-1252']}),
        samples: z.array(z.string()).describe('Cells of the file read in this encoding, cut at 60 characters'),
      }),
    )
    .optional()
    .describe('If the encoding could not be detected: candidates, likeliest first'),
}).describe('Findings about the text of the file')

export const Source = Answer({
  id: Id('src', 'The file of the import'),
  name: z.string().describe('Name of the file when uploaded'),
  label: z.string().describe('The name shown to users'),
  bytes: Bytes('Size of the file'),
  sha256: z.string().describe('SHA-256 of its bytes, in hexadecimal'),
  rows: Count('Rows of the file without the header, rows excluded by cleaning included'),
  cleaning: Cleaning,
  choices: Choices,
  reader: Reader.describe('All reader options'),
  sniffed: z
    .union([SniffedCsv, SniffedWorkbook])
    .optional()
    .describe('Options detected at upload, and why. An encoding chosen later replaces the detected one. Absent for the oldest files'),
  text: TextFound.optional().describe('Only for CSV. Absent for the oldest files'),
  columns: z.array(ColumnEvidence).describe('The columns after cleaning, columns added by splitting last'),
  fileColumns: z.array(z.string()).optional().describe('The columns of the file before cleaning. Absent for the oldest files'),
  ragged: Rows('Rows that do not fit the header. They are not written'),
  openQuotes: Rows('Rows with a cell of several lines whose quote seems not to be closed. They are not written').optional(),
  struck: Rows('Rows excluded by cleaning. They are not written').optional(),
  workbook: Answer({
    epoch: z.union([z.literal(1900), z.literal(1904)]).describe('The epoch of its dates'),
    merged: Count('Ranges of the sheet merged into one cell'),
  })
    .optional()
    .describe('Only for a workbook'),
  header: Answer({
    title: z.string().describe('The first cell above it'),
    columns: z.array(z.string()).describe('Its names, at most 20'),
    reader: ReaderOptions.describe('The reader options that make it the header'),
  })
    .optional()
    .describe('A later row that looks like the header, if the first row looks like a title. Not applied until chosen'),
  problems: z.array(Problem).describe('Problems that a person should know or decide. Empty: none'),
  createdAt: Moment('When it was uploaded'),
}).meta({id: 'Source', description: 'A file of an import, or one sheet of it, with its columns'})

const Issue = Answer({
  path: z.array(z.union([z.string(), z.int()])).meta({description: 'Position in the request', examples: [[0, 'fields', 2, 'source']]}),
  message: z.string().describe('What is wrong, in words'),
  code: z.string().optional().describe('The kind of issue, if a schema found it'),
  line: z.int().positive().optional().describe('The line in an expression, from 1'),
  column: z.int().positive().optional().describe('The column in an expression, from 1'),
}).meta({id: 'Issue', description: 'An issue and its position'})

const Filled = Answer({
  slot: z.string().describe('The slot it fills'),
  state: z.enum(['draft', 'ready']).describe('State of the import: `ready` once every slot is filled and all flows fit'),
  waiting: z.array(z.string()).describe('Slots without a file, and this slot if its file could not be read as the slot defines'),
  issues: z.array(Issue).describe('Issues. Empty: none'),
})

export const TakenIn = Answer({
  source: Source,
  filled: Filled.optional().describe('The result of filling a template slot, if the import has a template'),
})
