import test from 'ava'
import {writePlan} from '../../../shared/imports/plan-csv.ts'
import type {OutcomeEntry, RowOutcome} from '../../../shared/imports/row-result.ts'
import {collect, inPieces, readAll} from './chunks.ts'

const modules = [
  {apiName: 'Accounts', label: 'Firms'},
  {apiName: 'Contacts', label: 'People'},
]

const entry = (outcome: OutcomeEntry['outcome'], more: Partial<OutcomeEntry> = {}): OutcomeEntry => ({
  ...{module: 'Accounts', flow: 1, outcome, recordId: null, code: null, message: null},
  ...more,
})

const plan = async (outcomes: RowOutcome[]) => {
  const text = String(
    await collect(
      writePlan({
        modules,
        outcomes: (async function* () {
          yield outcomes
        })(),
      }),
    ),
  )
  return (await readAll(inPieces(text))).cells
}

test('a line says what would be done with a row in a module, and why', async t => {
  const lookup = 'No record of Accounts has this Account_Name: the row was skipped'
  const rows: [OutcomeEntry[], string[][]][] = [
    [[entry('planned', {message: 'create'})], [['Firms', 'create', '', '']]],
    [[entry('planned', {message: 'update', recordId: '7'})], [['Firms', 'update', '7', '']]],
    [
      [entry('planned', {message: 'update of the record that row 1 would make'})],
      [['Firms', 'update', '', 'update of the record that row 1 would make']],
    ],
    [[entry('skipped', {code: 'MATCH_ONE', message: 'It is there', recordId: '8'})], [['Firms', 'skip', '8', 'It is there']]],
    [
      [entry('skipped', {code: 'MATCH_MANY'}), entry('would_ask', {phase: 'match', code: '3', message: '3 records match'})],
      [['Firms', 'ask', '', '3 records match']],
    ],
    [[entry('failed', {code: 'ROW_RAGGED', message: 'Too short'})], [['Firms', 'fail', '', 'Too short']]],
    [[entry('inherited', {recordId: '9'})], [['Firms', 'skip', '9', '']]],
    [
      [entry('skipped', {message: lookup, target: 'Owner'}), entry('lookup', {phase: 'lookup', target: 'Owner', message: lookup})],
      [['Firms', 'skip', '', `Owner: ${lookup}`]],
    ],
    [
      [
        entry('planned', {message: 'create'}),
        entry('planned', {message: 'create', flow: 2}),
        entry('planned', {message: 'update', recordId: '1', module: 'Contacts', flow: 3}),
      ],
      [
        ['Firms', 'create', '', ''],
        ['Firms', 'create', '', ''],
        ['People', 'update', '1', ''],
      ],
    ],
  ]
  t.deepEqual(
    await plan(rows.map(([entries], at) => ({rowNumber: at + 1, entries}))),
    rows.flatMap(([, lines], at) => lines.map(line => [`${at + 1}`, ...line])),
  )
})
