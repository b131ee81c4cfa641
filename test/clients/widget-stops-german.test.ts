import test from 'ava'
import type {Run} from '../../api/clients/widget/runs/run.ts'
import {areas} from '../../api/clients/widget/text/de/areas.ts'
import {loadMessages, setLanguage} from '../../api/clients/widget/text/language.ts'
import {adviseToContinue} from '../../shared/runs/stop.ts'
import {run} from './widget-samples.ts'

// Modules read their messages when they are evaluated, so the language is set first.
setLanguage('de', areas)
await loadMessages(['reasons'])
const {whyOf} = await import('../../api/clients/widget/runs/why.ts')

const stopped = (code: string, more: Partial<Run> = {}) => {
  const {undoOf = null, ...of} = run(more)
  const message = `Reason. ${adviseToContinue({...of, undoOf})}`
  return whyOf({...of, undoOf, stop: {stopped: code, message}})!
}

test('in German, a stop with a translated code shows the next step, because the English message with its advice is hidden', t => {
  t.like(stopped('CANCELLED'), {title: 'Der Lauf wurde abgebrochen', message: ''})
  t.regex(stopped('CANCELLED').todo, /^Wiederholen Sie ihn, um fortzufahren/)
  t.regex(stopped('FIELD_NOT_WRITABLE').todo, /^Korrigieren Sie das Feld im CRM/)
  t.regex(stopped('CANCELLED', {dryRun: true}).todo, /^Nichts wurde geschrieben/)
  t.is(stopped('CANCELLED', {undoOf: 'run_0'}).todo, 'Machen Sie den Lauf noch einmal rückgängig, um fortzufahren.')
  t.is(
    stopped('GRANT_ENDED', {undoOf: 'run_0'}).todo,
    'Beheben Sie zuerst die Ursache. Machen Sie den Lauf noch einmal rückgängig, um fortzufahren.',
  )
  t.is(stopped('CANCELLED', {engine: 'outside'}).todo, 'Starten Sie einen weiteren Lauf für die übrigen Zeilen.')
  t.is(stopped('CRM_REFUSED').todo, '', 'the message of the CRM is shown, with its advice')
})

test('in German, a stop without a translated code shows the message of the API', t => {
  t.regex(stopped('NEVER_HEARD_OF').message, /^Reason\. Retry this run/)
  t.is(stopped('NEVER_HEARD_OF').todo, '')
  t.is(whyOf(run({state: 'paused', pause: {code: 'NEVER_HEARD_OF', message: 'Reason'}}))!.message, 'Reason')
})

test('in German, a changed plan and an expired undo do not read as a cancelled run', t => {
  t.like(stopped('PLAN_CHANGED'), {title: 'Der versiegelte Plan wurde geändert', message: ''})
  t.like(stopped('UNDO_EXPIRED', {undoOf: 'run_0'}), {todo: 'Korrigieren Sie die übrigen Datensätze im CRM.'})
})
