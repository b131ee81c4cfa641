import test from 'ava'
import {describeOutcome, isHeld} from '../../api/clients/widget/templates/outcome.ts'

const done = {state: 'ended', outcome: 'done', openQuestions: 0}
const mostlyUnchanged = {rowsWritten: 0, unchanged: 9, keptRows: 0, modules: {Leads: {skipped: 9, failed: 1}}}

test('a firing shows the state of its run, with unchanged rows and open questions', t => {
  t.deepEqual(describeOutcome({...done, counts: mostlyUnchanged}), {word: 'Imported, 1 needs attention', tone: 'warning'})
  t.deepEqual(describeOutcome({...done, counts: {...mostlyUnchanged, unchanged: 0, keptRows: 9}}).tone, 'warning')
  t.deepEqual(describeOutcome({...done, counts: mostlyUnchanged, openQuestions: 3}), {word: 'Needs your answer (3)', tone: 'warning'})
  const filled = {rowsWritten: 2, modules: {Leads: {skipped: 2}}}
  t.deepEqual(describeOutcome({...done, counts: filled}), {word: 'Imported', tone: 'good'})
})

test('a firing of an earlier version of Lading has a label too, and so has a firing without a run', t => {
  const earlier = {...done, counts: {rowsWritten: 1, modules: {Leads: {created: 1}}}, openQuestions: undefined as unknown as number}
  t.deepEqual(describeOutcome(earlier), {word: 'Imported', tone: 'good'})
  t.is(describeOutcome({...done, outcome: 'drifted', counts: null}).tone, 'warning')
  t.is(describeOutcome({...done, state: 'due', outcome: null, counts: null}).tone, 'info')
})

test('a held file waits until a person decides, but not if its import was deleted', t => {
  const firing = (decision: 'accepted' | null, importId: string | null) => ({contract: {decision}, importId})
  t.deepEqual([firing(null, 'imp_1'), firing('accepted', 'imp_1'), firing(null, null)].map(isHeld), [true, false, false])
})
