/** Shared example data, all of the same import. */
export const importId = 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3'
export const sourceId = 'src_01k9m0w1a2b3c4d5e6f7g8h9j0'
export const runId = 'run_01k9m10q8r7s6t5v4w3x2y1z0a'
export const connectorId = 'con_01k9kzx4n5m6p7q8r9s0t1v2w3'
const at = '2026-03-01T08:30:00.000Z'

export const flow = {
  id: 'accounts',
  sourceId,
  module: 'Accounts',
  match: {by: ['Account_Name'], onOne: 'update', onMany: 'ask'},
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'Company', empty: 'leave'},
    {field: 'Website', mode: 'column', source: 'Web', transform: "value.replace('http://', 'https://')", empty: 'leave'},
  ],
}

const column = (name: string, kind: string, samples: string[]) => ({
  name,
  kinds: {[kind]: 1_200},
  empties: 0,
  distinct: {count: 1_000, more: true, about: 1_184},
  longest: 48,
  dates: {dmy: 0, mdy: 0, ymd: 0, ambiguous: 0},
  marks: {point: 0, comma: 0, ambiguous: 0},
  leadingZeros: null,
  beyond53: null,
  replaced: null,
  samples,
})

export const source = {
  id: sourceId,
  name: 'accounts.csv',
  label: 'accounts.csv',
  bytes: 73_400,
  rows: 1_200,
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  cleaning: [{step: 'trim'}],
  choices: {},
  reader: {
    format: 'csv',
    encoding: 'utf-8',
    delimiter: ',',
    quote: '"',
    strictQuotes: false,
    headerRow: true,
    skipRows: 0,
    comment: null,
    shortRows: 'refuse',
  },
  sniffed: {encoding: 'utf-8', how: 'utf-8', delimiter: ',', delimiterHow: 'counted', skipRows: 0},
  columns: [column('Company', 'text', ['Example Ltd']), column('Web', 'url', ['http://www.example.org'])],
  fileColumns: ['Company', 'Web'],
  ragged: {count: 0, firstRow: null},
  struck: {count: 0, firstRow: null},
  problems: [],
  createdAt: at,
}

export const importInList = {
  id: importId,
  name: 'Accounts of March',
  connectorId,
  state: 'ready',
  version: 2,
  templateId: null,
  templateVersion: null,
  createdBy: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4',
  createdAt: at,
  expiredAt: null,
  archivedAt: null,
  flows: [flow],
}

export const wholeImport = {...importInList, slots: [], sources: [source]}

export const run = {
  id: runId,
  importId,
  connectorId,
  templateId: null,
  state: 'writing',
  engine: 'worker',
  dryRun: false,
  retryOf: null,
  retriedBy: null,
  undoOf: null,
  undo: null,
  planOf: null,
  planStale: 0,
  rows: null,
  declaredRows: 1_200,
  rowsPerRun: 1_200,
  rowsWritten: 400,
  overageRows: 0,
  counts: {
    Accounts: {created: 310, updated: 84, refused: 2, unanswered: 0, inherited: 0, failed: 1, skipped: 3, planned: 0, filtered: 0},
  },
  mayExistTwice: 0,
  verify: {mode: 'off', rows: 0, coerced: 0, changed: 0, missing: 0, unread: 0, waiting: 0, unverified: 0},
  routes: [
    {
      flowId: 'accounts',
      match: 'query',
      why: 'Queries cost about 6 credits',
      write: 'records',
      writeWhy: 'The run was started with record calls',
    },
  ],
  forecast: {credits: {min: 130, max: 140}, seconds: {p50: 4.8, p95: 14.4}},
  cost: {calls: 12, credits: 46, byKind: {query: 6, create: 31, update: 9}},
  linksEmpty: [],
  deletes: false,
  deleted: 0,
  unchanged: 0,
  keptEdits: 0,
  keptRows: 0,
  creditsSaved: 0,
  unmapped: [],
  questions: 1,
  questionsAnswered: 0,
  stale: null,
  progress: {done: 400, total: 1_200, unit: 'rows', rowsPerSecond: 80.5, etaSeconds: 9.9},
  stop: null,
  pause: null,
  held: null,
  stoppedBy: null,
  outcome: null,
  authorisedAt: at,
  startedAt: '2026-03-01T08:30:01.000Z',
  endedAt: null,
  expiredAt: null,
}

export const externalRun = {...run, engine: 'outside', importId: null, progress: null, questions: 0}

export const logRecord = {
  seq: 1,
  rowKey: 'accounts:17',
  flowId: 'accounts',
  rowNumber: 17,
  module: 'Accounts',
  phase: 'write',
  target: '',
  attempt: 1,
  recordId: null,
  outcome: 'refused',
  code: 'INVALID_DATA',
  message: 'The CRM refused the value: invalid data (INVALID_DATA)',
  at: '2026-03-01T08:30:02.000Z',
}

export const job = (name: string, result: object | null = null) => ({
  id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  name,
  state: result ? 'done' : 'queued',
  result,
  error: null,
  createdAt: at,
  startedAt: null,
  endedAt: null,
  progress: null,
})
