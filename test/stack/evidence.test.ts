import test from 'ava'
import {differences, type Evidence, readResults, tallyOfLog} from './evidence.ts'
import type {LogEntry} from './journey.ts'

const imported = (created: number, updated: number) => {
  const tally = {read: 2, created, updated, skipped: 0, failed: 0, unanswered: 0}
  return {tally: {...tally, seconds: 1, rowsPerSecond: 2}, log: {...tally}, results: readResults(results)}
}

const results = 'iata,Result,Accounts record,Error\nABC,Written,1,\nXYZ,Written,2,\n'
const sound = (): Evidence => ({keys: ['ABC', 'XYZ'], first: imported(2, 0), again: imported(0, 2), crmRecords: 2})

test('sources that agree give no differences', t => t.deepEqual(differences(sound()), []))

test('a second import that skips unchanged rows agrees with results that say Skipped', t => {
  const evidence = sound()
  evidence.again = {...imported(0, 0), results: readResults(results.replaceAll('Written', 'Skipped'))}
  for (const counts of [evidence.again.tally, evidence.again.log]) counts.skipped = 2
  t.deepEqual(differences(evidence), [])
  evidence.again.results[0]!.result = 'Written'
  t.is(differences(evidence).length, 2)
})

const faults: [name: string, spoil: (evidence: Evidence) => void][] = [
  ['a row created twice', evidence => Object.assign(evidence, {crmRecords: 3})],
  ['a row that the second import created again', ({again}) => Object.assign(again.tally, {created: 1, updated: 1})],
  ['a row that is lost', ({first}) => Object.assign(first.tally, {created: 1})],
  ['a row that failed', ({first}) => Object.assign(first.tally, {created: 1, failed: 1})],
  ['a row that was never answered', ({again}) => Object.assign(again.tally, {updated: 1, unanswered: 1})],
  ['a log that contradicts the counts', ({first}) => Object.assign(first.log, {created: 1, updated: 1})],
  ['a log that misses a row', ({again}) => Object.assign(again.log, {read: 1})],
  ['results that miss a row', ({first}) => void first.results.pop()],
  ['results in another order', ({first}) => void first.results.reverse()],
  ['a result that is not Written', ({first}) => Object.assign(first.results[0]!, {result: 'No answer'})],
  ['two rows in one record', ({first}) => Object.assign(first.results[0]!, {record: '2'})],
  ['a row that went to another record the second time', ({again}) => Object.assign(again.results[0]!, {record: '3'})],
]

for (const [name, spoil] of faults) {
  test(`the demo notices ${name}`, t => {
    const evidence = sound()
    spoil(evidence)
    t.not(differences(evidence).length, 0)
  })
}

test('a row ends as its highest attempt says, and an answer replaces an unanswered outcome in either order', t => {
  const entry = (rowKey: string, attempt: number, outcome: string, phase = 'write') => ({rowKey, attempt, outcome, phase}) as LogEntry
  const log = [
    entry('a.1', 1, 'unanswered'),
    entry('a.1', 1, 'created'),
    entry('a.2', 1, 'created'),
    entry('a.2', 1, 'unanswered'),
    entry('a.3', 1, 'refused'),
    entry('a.3', 2, 'updated'),
    entry('a.3', 3, 'refused', 'patch'),
  ]
  t.deepEqual(tallyOfLog(log), {read: 3, created: 2, updated: 1, skipped: 0, failed: 0, unanswered: 0})
})
