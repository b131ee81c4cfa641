import {z} from 'zod'
import {Choices} from '../../shared/imports/choices.ts'
import {Cleaning} from '../../shared/imports/cleaning.ts'
import {Reader, ReaderOptions} from '../../shared/imports/reader.ts'
import {Answer, Bytes, Count, Id, Moment} from './common.ts'

const RowNumber = (what: string) => z.int().positive().describe(`${what}. Rows count from 1, the header left out`)

const Found = (what: string) =>
  Answer({count: Count('In how many cells'), firstRow: RowNumber('The row of the first of them')})
    .nullable()
    .describe(`${what}. Null: none`)

const Rows = (what: string) =>
  Answer({
    count: Count('How many'),
    firstRow: RowNumber('The first of them').nullable().describe('The first of them, counted from 1. Null: there is none'),
  }).describe(what)

export const ColumnEvidence = Answer({
  name: z.string().describe('Its name: of the header, or made of its number'),
  kinds: z
    .partialRecord(z.enum(['integer', 'decimal', 'boolean', 'date', 'email', 'url', 'phone', 'text']), Count('Cells that look so'))
    .describe('Cells by what they look like; what does not occur is left out. Blank cells are `empties`. `0` and `1` are integers'),
  empties: Count('Blank cells'),
  distinct: Answer({
    count: Count('How many, exactly, up to 1,000; up to fewer in a file of more than 200 columns'),
    more: z.boolean().describe('Whether there are more than `count`'),
    about: Count('About how many there are, mostly within 5 % of the truth; only where there are more').optional(),
  }).describe('Values that differ. Blanks are no value'),
  longest: Count('Characters of the longest cell'),
  dates: Answer({
    dmy: Count('Only day, month, year'),
    mdy: Count('Only month, day, year'),
    ymd: Count('Only year, month, day'),
    ambiguous: Count('Several orders are possible'),
  }).describe('Dates by the order they can be read in. Ambiguous ones and no proof: a person must choose'),
  marks: Answer({
    point: Count('With a decimal point, for certain'),
    comma: Count('With a decimal comma, for certain'),
    ambiguous: Count('Such as `1,234`, which can be read in two ways'),
  }).describe('Numbers by their decimal mark'),
  leadingZeros: Found('Values such as `007`, which a number would not keep'),
  beyond53: Found('Integers beyond 2^53, which a number would not keep'),
  replaced: Found('Cells with U+FFFD: text was lost before the file came here'),
  samples: z.array(z.string()).describe('The first five values that differ, cut at 200 characters'),
  stored: z
    .partialRecord(
      z.enum(['text', 'number', 'date', 'boolean', 'error', 'uncalculated', 'undated', 'percent', 'scaled', 'padded']),
      Count('Cells that are stored so'),
    )
    .optional()
    .describe(
      'Of a workbook: cells by how they are stored. `uncalculated`: formulas without a value. `undated`: formatted as a date, but no valid one. `percent`: displayed with `%`. `scaled`: displayed in thousands or millions. `padded`: displayed with zeros or signs that are not stored, such as 00501',
    ),
  formatted: Answer({
    displayed: z.string().meta({description: 'As displayed, without the sign of a percentage or currency', examples: ['25']}),
    stored: z.string().meta({description: 'As the file holds it', examples: ['0.25']}),
  })
    .optional()
    .describe('Of a workbook: the first number whose format displays another text'),
  numbers: z
    .enum(['displayed', 'stored'])
    .optional()
    .describe('Of a workbook: how numbers whose displayed and stored values differ are read. Change it with `choices`'),
}).meta({id: 'ColumnEvidence', description: 'What was seen in a column'})

export const Problem = Answer({
  kind: z
    .enum(['encoding', 'undecodable', 'ambiguous', 'lost', 'ragged', 'merged', 'uncalculated', 'undated', 'header', 'sheet'])
    .describe(
      '`encoding`: the file does not show its encoding; a person chooses it before a run. `undecodable`: bytes are not in the encoding; a person accepts them before a run. `ambiguous`: nothing is guessed, a person chooses. `lost`: characters were lost before the file came here. `ragged`: rows do not fit the header. `merged`, `uncalculated`, `undated`: what a workbook holds is not what it shows. `header`: the first row looks like a title, and another like the header. `sheet`: the first sheet of the workbook has no rows, so another is read',
    ),
  column: z.string().nullable().describe('The column; null: the whole file'),
  message: z.string().describe('What is wrong, for a person'),
  fix: z.string().describe('What to do about it, for a person'),
  reader: ReaderOptions.optional().describe('The reader options that solve it, for `PATCH` of the source; only where they are known'),
}).meta({id: 'SourceProblem', description: 'What a person should know or decide of a file before it is imported'})

const Sheet = Answer({
  name: z.string().describe('Its name'),
  state: z.enum(['visible', 'hidden', 'very hidden']).describe('Whether a spreadsheet program shows it'),
})

const SniffedCsv = Answer({
  encoding: z.string().meta({description: 'By its WHATWG name', examples: ['utf-8']}),
  how: z
    .enum(['stated', 'content type', 'template', 'byte order mark', 'utf-8', 'ascii', 'zero bytes', 'fallback'])
    .describe(
      'Why this encoding. `stated`: by a reader option. `content type`: by the charset the file was sent with. `template`: the template keeps it. `ascii`: nothing beyond it in the file. `fallback`: a proposal, the bytes do not show it',
    ),
  delimiter: z.string().describe('The character between cells'),
  delimiterHow: z.enum(['stated', 'sep line', 'counted', 'single column']).describe('Why this delimiter'),
  skipRows: Count('Lines left out above the header'),
}).describe('Of CSV')

const SniffedWorkbook = Answer({
  sheet: z.string().describe('The sheet that is read'),
  how: z.enum(['stated', 'only', 'first visible', 'first with rows']).describe('Why this sheet'),
  passed: z.string().optional().describe('The first visible sheet, where it has no rows and so another is read'),
  sheets: z.array(Sheet).describe('All sheets of cells'),
}).describe('Of a workbook')

const TextFound = Answer({
  bad: Answer({
    places: Count('Places whose bytes are not in the encoding'),
    rows: Count('Rows with such a place'),
    firstRows: z.array(RowNumber('A row')).describe('The first 20 of them'),
    header: z.boolean().describe('Whether the header has such a place'),
  })
    .nullable()
    .describe('Bytes that are not in the encoding the file is read in; null: there are none'),
  candidates: z
    .array(
      Answer({
        encoding: z.string().meta({description: 'By its WHATWG name', examples: ['windows-1252']}),
        samples: z.array(z.string()).describe('Cells of the file as they are in this encoding, cut at 60 characters'),
      }),
    )
    .optional()
    .describe('Where the bytes do not show the encoding: those it may be, the likeliest first'),
}).describe('What was found of its text')

export const Source = Answer({
  id: Id('src', 'The file of the import'),
  name: z.string().describe('Its name when it was sent'),
  label: z.string().describe('What people call it'),
  bytes: Bytes('How large it is'),
  sha256: z.string().describe('SHA-256 of its bytes, in hexadecimal'),
  rows: Count('All its rows, struck ones too, without the header'),
  cleaning: Cleaning,
  choices: Choices,
  reader: Reader.describe('How it is read, whole'),
  sniffed: z
    .union([SniffedCsv, SniffedWorkbook])
    .optional()
    .describe('What was made of the file when it came, and why; an encoding that is chosen later takes its place. The oldest have none'),
  text: TextFound.optional().describe('Of CSV only. The oldest have none'),
  columns: z.array(ColumnEvidence).describe('Its columns as cleaning leaves them, those that were split off at their end'),
  fileColumns: z.array(z.string()).optional().describe("The file's own columns. The oldest have none"),
  ragged: Rows('Rows that do not fit the header; none of them is written'),
  struck: Rows('Rows that cleaning struck; none of them is written').optional(),
  workbook: Answer({
    epoch: z.union([z.literal(1900), z.literal(1904)]).describe('The year its days are counted from'),
    merged: Count('Ranges of the sheet merged into one cell'),
  })
    .optional()
    .describe('Of a workbook only'),
  header: Answer({
    title: z.string().describe('The first cell above it'),
    columns: z.array(z.string()).describe('Names in it, up to twenty'),
    reader: ReaderOptions.describe('The reader options that make it the header'),
  })
    .optional()
    .describe(
      'A row further down that looks like the header, where the first row looks like a title. Nothing is left out until it is chosen',
    ),
  problems: z.array(Problem).describe('What a person should know or decide; empty where there is nothing'),
  createdAt: Moment('When it came'),
}).meta({id: 'Source', description: 'A file of an import, or a sheet of one, with what was seen in it'})

export const SourceAnswer = Answer({source: Source})

export const Issue = Answer({
  path: z
    .array(z.union([z.string(), z.int()]))
    .meta({description: 'Where, from the top of what was sent', examples: [[0, 'fields', 2, 'source']]}),
  message: z.string().describe('What is wrong, for a person'),
  code: z.string().optional().describe('The kind of issue, where a schema found it'),
  line: z.int().positive().optional().describe('The line in an expression, from 1'),
  column: z.int().positive().optional().describe('The column in an expression, from 1'),
}).meta({id: 'Issue', description: 'What does not fit, and where'})

const Filled = Answer({
  slot: z.string().describe('The slot it fills'),
  state: z.enum(['draft', 'ready']).describe('Of the import: `ready` once every slot is filled and all fits'),
  waiting: z.array(z.string()).describe('Slots that have no file yet'),
  issues: z.array(Issue).describe('What does not fit; empty where all does'),
})

export const TakenIn = Answer({
  source: Source,
  filled: Filled.optional().describe('Where the file is for a slot of a template: what came of it'),
})

const PreviewRow = Answer({
  rowNumber: RowNumber('Where it stands'),
  values: z.array(z.string()).describe("Its cells as they are read and cleaned, in the order of the answer's `columns`"),
  raw: z.array(z.string()).describe("What the file holds, in the order of the answer's `fileColumns`"),
  ragged: z.boolean().describe('Whether it does not fit the header'),
  struck: z.string().nullable().describe('Why cleaning struck it, for a person; null: it did not'),
})

export const PreviewRows = Answer({
  columns: z.array(z.string()).describe('Columns as cleaning leaves them'),
  fileColumns: z.array(z.string()).describe("The file's own columns"),
  rows: z.array(PreviewRow).describe('In their order; fewer than asked for where their cells have more than 4,194,304 characters together'),
  nextFrom: RowNumber('Give it back as `from`').nullable().describe('Where the next rows begin, for `from`; null: there are none'),
})
