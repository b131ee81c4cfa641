export type {CheckProblem} from '../../../../shared/mapping/checks/problem.ts'

/** An import as the API returns it, with the fields that the widget uses. */
export type Imported = {
  id: string
  name: string
  connectorId: string
  state: 'draft' | 'ready' | 'running' | 'done' | 'expired'
  version: number
  templateId: string | null
  templateVersion: number | null
  /** The id of the person who created the import. Null if the person was deleted. */
  createdBy: string | null
  createdAt: string
  expiredAt: string | null
  /** When the import was archived, or null. Absent in earlier versions of Lading. */
  archivedAt?: string | null
  flows: Flow[]
  slots: Slot[]
  sources: Source[]
}

export type Slot = {slot: string; label: string; flows: string[]; sourceId: string | null; columns: string[]}

type DateOrder = 'dmy' | 'mdy' | 'ymd'
export type NumberMode = 'displayed' | 'stored'
export type Choice = {dateOrder?: DateOrder; decimalMark?: 'point' | 'comma'; as?: 'text' | 'number'; numbers?: NumberMode}

export type Source = {
  id: string
  name: string
  label: string
  bytes: number
  sha256: string
  rows: number
  cleaning: CleaningStep[]
  choices: Record<string, Choice>
  reader: Reader
  sniffed?: SniffedReader
  text?: SourceText
  columns: SourceColumn[]
  fileColumns?: string[]
  ragged: {count: number; firstRow: number | null}
  openQuotes?: {count: number; firstRow: number | null}
  struck?: {count: number; firstRow: number | null}
  header?: {title: string; columns: string[]; reader: Partial<Reader>}
  problems: SourceProblem[]
  createdAt: string
}

/** How the text of a source was decoded. `candidates`: possible encodings with sample cells, if the encoding is uncertain or bytes are invalid. */
type SourceText = {
  bad: {places: number; rows: number; firstRows: number[]; header: boolean} | null
  candidates?: {encoding: string; samples: string[]}[]
}

export type CsvReader = {
  format: 'csv'
  encoding: string
  badBytes?: 'replace'
  delimiter: string
  quote: string | null
  strictQuotes: boolean
  headerRow: boolean
  skipRows: number
  comment: string | null
  shortRows: 'refuse' | 'fill'
}
export type WorkbookReader = {format: 'xlsx'; sheet: string; headerRow: boolean; range: string | null}
export type Reader = CsvReader | WorkbookReader

/** `rows` is left out if the rows were not counted. */
export type SheetOutline = {name: string; state: string; rows?: number}

export type SniffedReader =
  | {encoding: string; how: string; delimiter: string; delimiterHow: string; skipRows: number}
  | {sheet: string; how: string; sheets: SheetOutline[]}

export type SourceColumn = {
  name: string
  kinds: Record<string, number>
  empties: number
  distinct: {count: number; more: boolean; about?: number}
  longest: number
  dates: Record<DateOrder | 'ambiguous', number>
  marks: Record<'point' | 'comma' | 'ambiguous', number>
  leadingZeros: {count: number; firstRow: number} | null
  beyond53: {count: number; firstRow: number} | null
  replaced: {count: number; firstRow: number} | null
  samples: string[]
  /** For a workbook: the first number whose displayed and stored values differ. `numbers`: which of the two is read. */
  formatted?: {displayed: string; stored: string}
  numbers?: NumberMode
}
/** A problem with reading a source. `reader`: reader options that fix the problem. */
export type SourceProblem = {kind: string; column: string | null; message: string; fix: string; reader?: Partial<Reader>}

export type CleaningStep = {step: string; columns?: string[]; [key: string]: unknown}

export type Mapping = {
  field: string
  mode: 'column' | 'static' | 'expression' | 'search' | 'skip'
  source?: string | null
  staticValue?: string | null
  transform?: string | null
  searchField?: string | null
  searchMethod?: 'equals' | 'word' | null
  searchExpression?: string | null
  onNone?: 'leave' | 'fail' | 'skip' | null
  onMany?: 'leave' | 'first' | 'ask' | 'skip' | null
  empty?: 'leave' | 'clear'
  values?: ValueEntry[] | null
  otherwise?: 'keep' | 'empty' | 'fail' | null
  /** The mode `map` and the property `map` are an older form of `values`. */
  picklist?: 'reject' | 'pass' | 'map' | null
  map?: Record<string, string> | null
  format?: string | null
  zone?: string | null
  patch?: {when: string[]; overwrite: 'always' | 'if-absent'} | null
}

export type ValueEntry = {from: string; to: string}

export type RowKey = {parentColumn: string; childColumn: string}
export type Flow = {
  id: string
  sourceId: string
  module: string
  /** If absent, the flow creates and updates records. */
  action?: 'delete'
  filter?: string | null
  guard?: string | null
  /** If absent, the module's default match applies. Null: every row creates a record. */
  match?: {
    by: string[]
    onOne: 'update' | 'skip' | 'create'
    onMany: 'ask' | 'first' | 'skip'
    unchanged?: 'skip' | 'write'
    onEdited?: 'overwrite' | 'keep' | 'ask'
    onUnknown?: 'write' | 'keep'
  } | null
  fields: Mapping[]
  parent?: {field: string; flow: string; key?: RowKey | null; onMissing: 'fail' | 'leave' | 'skip'}
  subform?: {field: string; child: string; parentFlow: string; key?: RowKey | null}
  automations?: boolean
  layout?: string | null
  assignmentRule?: string | null
  tags?: string[]
  matchBy?: 'query' | 'snapshot' | 'auto'
  writeBy?: 'records' | 'bulk' | 'auto'
}

export type Checks = {state: string; startedAt: string | null; endedAt: string | null; rows: number | null; stale: boolean}

export type RunOutline = {
  id: string
  state: string
  dryRun: boolean
  counts: Record<string, Record<string, number>>
  stop: unknown
  /** Whether the plan of a dry run is out of date. Absent in earlier versions of Lading. */
  stale?: boolean | null
  endedAt: string | null
  authorisedAt: string
}
