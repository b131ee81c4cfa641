import test from 'ava'
import {writePlan} from '../../../../shared/runs/results/plan-csv.ts'
import type {PlannedValues} from '../../../../shared/runs/results/planned-values.ts'
import type {OutcomeEntry, RowOutcome} from '../../../../shared/runs/results/row-result.ts'
import {collect, inPieces, readAll} from '../../files/chunks.ts'

const modules = [
  {apiName: 'Accounts', label: 'Firms', fields: new Map([['City', 'Town']])},
  {apiName: 'Contacts', label: 'People'},
]

const entry = (outcome: OutcomeEntry['outcome'], more: Partial<OutcomeEntry> = {}): OutcomeEntry => ({
  module: 'Accounts',
  flow: 1,
  outcome,
  recordId: null,
  code: null,
  message: null,
  ...more,
})

const plan = async (outcomes: RowOutcome[], values: PlannedValues[] = []) => {
  const text = String(
    await collect(
      writePlan({
        modules,
        source: 'firms.csv',
        values: (async function* () {
          for (const one of values) yield [one]
        })(),
        outcomes: (async function* () {
          yield outcomes
        })(),
      }),
    ),
  )
  return (await readAll(inPieces(text))).cells
}

const line = (action: string, record = '', why = '', module = 'Firms') => [module, action, record, '', '', '', why]
const unkept = 'the values were not kept'

test('a plan line names the action for a row in a module, and the reason', async t => {
  const lookup = 'No record of Accounts has this Account_Name: the row was skipped'
  const rows: [OutcomeEntry[], string[][]][] = [
    [[entry('planned', {message: 'create'})], [line('create', '', unkept, 'Firms')]],
    [[entry('planned', {message: 'update', recordId: '7'})], [line('update', '7', unkept, 'Firms')]],
    [
      [entry('planned', {message: 'update of the record that row 1 would make'})],
      [line('update', '', `${unkept}; update of the record that row 1 would make`, 'Firms')],
    ],
    [[entry('skipped', {code: 'MATCH_ONE', message: 'It is there', recordId: '8'})], [line('skip', '8', 'It is there', 'Firms')]],
    [
      [entry('skipped', {code: 'MATCH_MANY'}), entry('would_ask', {phase: 'match', code: '3', message: '3 records match'})],
      [line('ask', '', '3 records match', 'Firms')],
    ],
    [[entry('failed', {code: 'ROW_RAGGED', message: 'Too short'})], [line('fail', '', 'Too short', 'Firms')]],
    [[entry('inherited', {recordId: '9'})], [line('skip', '9', '', 'Firms')]],
    [
      [entry('skipped', {message: lookup, target: 'Owner'}), entry('lookup', {phase: 'lookup', target: 'Owner', message: lookup})],
      [line('skip', '', `Owner: ${lookup}`, 'Firms')],
    ],
    [
      [
        entry('planned', {message: 'create'}),
        entry('planned', {message: 'create', flow: 2}),
        entry('planned', {message: 'update', recordId: '1', module: 'Contacts', flow: 3}),
      ],
      [line('create', '', unkept, 'Firms'), line('create', '', unkept, 'Firms'), line('update', '1', unkept, 'People')],
    ],
  ]
  t.deepEqual(
    await plan(rows.map(([entries], at) => ({rowNumber: at + 1, entries}))),
    rows.flatMap(([, lines], at) => lines.map(line => [`${at + 1}`, 'firms.csv', ...line])),
  )
})

test('a changed field has a plan line with the old and the new value', async t => {
  const values: PlannedValues[] = [
    {
      row: 1,
      flow: 1,
      phase: 'write',
      changes: [
        ['Account_Name', '', '=New'],
        ['City', '', 'There'],
      ],
    },
    {row: 2, flow: 1, phase: 'write', changes: [['City', 'Here', '']]},
    {row: 2, flow: 1, phase: 'patch', changes: [['City', '', 'Later']]},
    {row: 3, flow: 1, phase: 'write', changes: []},
  ]
  const update = entry('planned', {message: 'update', recordId: '7'})
  const outcomes = [
    {rowNumber: 1, entries: [entry('planned', {message: 'create'})]},
    {rowNumber: 2, entries: [update, entry('planned', {phase: 'patch', message: 'update', recordId: '7'})]},
    {rowNumber: 3, entries: [update]},
    {rowNumber: 4, entries: [entry('planned', {message: 'replace', recordId: '8'})]},
  ]
  t.deepEqual(await plan(outcomes, values), [
    ['1', 'firms.csv', 'Firms', 'create', '', 'Account_Name', '', "'=New", ''],
    ['1', 'firms.csv', 'Firms', 'create', '', 'Town', '', 'There', ''],
    ['2', 'firms.csv', 'Firms', 'update', '7', 'Town', 'Here', '', ''],
    ['2', 'firms.csv', 'Firms', 'patch', '7', 'Town', '', 'Later', ''],
    ['3', 'firms.csv', 'Firms', 'update', '7', '', '', '', 'nothing changes'],
    ['4', 'firms.csv', 'Firms', 'replace', '8', '', '', '', unkept],
  ])
})
