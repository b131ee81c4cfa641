import {deletesRecords} from '../../run-state.ts'
import {sayRowReason} from '../text/errors.ts'
import {type StopWords, t} from '../text/reasons.ts'
import {withLabel} from '../ui/labels.ts'
import type {Run} from './run.ts'

export type ReasonOfRow = StopWords & {message: string}

type RowReason = {code: string | null; message: string | null; field: string | null; fieldLabel: string | null}

type HaltedRun = Pick<Run, 'pause' | 'stop' | 'state' | 'dryRun' | 'engine' | 'undoOf' | 'deletes' | 'deleted'>

/** Returns why a run is paused or stopped, or null. `message` is empty if the texts for the code replace the API's message. */
export const whyOf = (run: HaltedRun): ReasonOfRow | null => {
  const {pause, stop, state, dryRun} = run
  if (stop && dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN')
    return {
      ...t.fewerRows,
      message: stop.message,
    }
  if (stop) {
    const known = t.stops[stop.stopped]
    const words = known ?? t.runStopped
    const isEnding = state !== 'ended' && stop.stopped === 'CANCELLED'
    const title = isEnding ? t.cancelling : words.title
    const message = messageToShow(known, stop.stopped, isDeletion(run) ? stop.message.replace(retryAdvice, '.') : stop.message)
    return {
      ...words,
      title: dryRun ? t.ofDryRun(title) : title,
      message,
      todo: leftToSay(run, stop.stopped, {todo: words.todo, message}),
    }
  }
  if (!pause || state === 'ended') return null
  const known = t.pauses[pause.code]
  return {...(known ?? t.runPaused), message: messageToShow(known, pause.code, pause.message)}
}

/** Returns the API's message, or an empty text if the catalogue's texts for the code replace it. */
const messageToShow = (known: StopWords | undefined, code: string, message: string): string => (known && t.hasOwnWords(code) ? '' : message)

/** Returns the reason of a row: the text for its code in the current language, else the API's message. Null without a message. */
export const sayReason = ({code, message, field, fieldLabel}: RowReason): string | null =>
  message && (sayRowReason(code, fieldLabel) ?? withLabel(message, field, fieldLabel))

export const labelOfReason = (code: string): string => {
  const words = code.replaceAll('_', ' ').toLowerCase()
  return t.codes[code] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** The API's advice to retry. The widget starts a new run instead of retrying a run that deletes records. */
const retryAdvice = /\. Retry this run to continue.*$/
const isDeletion = (run: HaltedRun): boolean => !run.dryRun && !run.undoOf && deletesRecords(run)

/** Stops after which no run of the same kind can continue. */
const FINAL = new Set(['FILE_GONE', 'PLAN_CHANGED', 'UNDO_EXPIRED'])

/** The codes of stops after which a person can start again without a correction. */
const NEEDS_NO_CORRECTION = new Set(['CANCELLED', 'LIMIT_ROWS_PER_RUN', 'ENGINE_FAILED'])

/** Returns the advice to show below `message`, or an empty text if `message` already ends with advice. */
const leftToSay = (run: HaltedRun, code: string, {todo, message}: {todo: string; message: string}): string => {
  if (/retry this run|undo the run again|start another dry run|authorise another run/i.test(message)) return ''
  if (run.dryRun) return t.dryRunStopped
  if (FINAL.has(code)) return todo
  if (run.engine === 'worker' && !run.undoOf && !isDeletion(run)) return todo
  const next = run.undoOf ? t.insteadOfRetry.undo : isDeletion(run) ? t.insteadOfRetry.deletes : t.insteadOfRetry.external
  return NEEDS_NO_CORRECTION.has(code) ? next : `${t.insteadOfRetry.cause} ${next}`
}

export const adviceOf = ({code, outcome, message}: {code: string | null; outcome: string; message?: string | null}): string | null => {
  if (outcome === 'unanswered') return t.unanswered[code ?? ''] ?? t.lookedFor
  if (code !== null && t.advice[code]) return t.advice[code]
  if (code?.startsWith('EXPRESSION')) return t.expressionFails
  if (message?.includes('may exist')) return t.lookYourself
  if (outcome === 'refused') return t.fixInCrmOrFile
  return outcome === 'failed' ? t.fixInFile : null
}
