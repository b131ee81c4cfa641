import type {Field} from '../../api/clients/widget/imports/fields.ts'
import type {CheckProblem} from '../../api/clients/widget/imports/import.ts'
import type {Proposal} from '../../api/clients/widget/imports/proposal.ts'
import type {Run} from '../../api/clients/widget/runs/run.ts'

const usual: Field = {
  apiName: '',
  label: '',
  type: 'text',
  jsonType: 'string',
  length: null,
  required: false,
  unique: null,
  creatable: true,
  readOnly: false,
  picklist: [],
  lookup: null,
  subform: null,
  excluded: false,
  annotation: null,
}
export const field = (apiName: string, more: Partial<Field> = {}): Field => ({...usual, apiName, label: apiName, ...more})

export const proposal = (column: string, name: string | null, confidence: number, more: Partial<Proposal> = {}): Proposal => ({
  column,
  field: name,
  module: 'Leads',
  confidence,
  why: ['label'],
  by: 'local',
  note: null,
  candidates: [],
  ...more,
})

export const problem: CheckProblem = {
  severity: 'error',
  kind: 'invalid_value',
  source: 's',
  flow: 'leads',
  module: 'Leads',
  field: 'Email',
  column: 'Mail',
  place: null,
  count: 2,
  rows: [1, 3],
  samples: ['x'],
  message: 'Email takes an e-mail address',
  fix: 'Correct the cells',
}

export const run = (more: Partial<Run> = {}): Run => ({
  id: 'run_1',
  importId: 'imp_1',
  connectorId: 'con_1',
  state: 'ended',
  engine: 'worker',
  dryRun: false,
  retryOf: null,
  rows: null,
  declaredRows: 10,
  rowsPerRun: 10,
  rowsWritten: 0,
  overageRows: 0,
  counts: {},
  questions: 0,
  progress: null,
  stop: null,
  pause: null,
  stoppedBy: null,
  outcome: null,
  authorisedAt: '2026-03-01T08:00:00.000Z',
  startedAt: null,
  endedAt: null,
  expiredAt: null,
  ...more,
})
