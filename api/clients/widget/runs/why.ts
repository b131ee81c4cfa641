import {sayRowReason} from '../text/errors.ts'
import {type StopWords, t} from '../text/reasons.ts'
import {withLabel} from '../ui/labels.ts'
import type {Run} from './run.ts'

export type ReasonOfRow = StopWords & {message: string}

type RowReason = {code: string | null; message: string | null; field: string | null; fieldLabel: string | null}

/** Returns why a run is paused or stopped, or null. `message` is empty if the texts for the code replace the API's message. */
export const whyOf = ({pause, stop, state, dryRun}: Pick<Run, 'pause' | 'stop' | 'state' | 'dryRun'>): ReasonOfRow | null => {
  if (stop && dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN')
    return {
      ...t.fewerRows,
      message: stop.message,
    }
  if (stop) {
    const known = t.stops[stop.stopped] ?? t.runStopped
    const isEnding = state !== 'ended' && stop.stopped === 'CANCELLED'
    const title = isEnding ? t.cancelling : known.title
    return {
      ...known,
      title: dryRun ? t.ofDryRun(title) : title,
      message: t.hasOwnWords(stop.stopped) ? '' : stop.message,
      todo: leftToSay(known.todo, stop.message, dryRun),
    }
  }
  if (!pause || state === 'ended') return null
  const known = t.pauses[pause.code] ?? t.runPaused
  return {...known, message: t.hasOwnWords(pause.code) ? '' : pause.message}
}

/** Returns the reason of a row: the text for its code in the current language, else the API's message. Null without a message. */
export const sayReason = ({code, message, field, fieldLabel}: RowReason): string | null =>
  message && (sayRowReason(code, fieldLabel) ?? withLabel(message, field, fieldLabel))

export const labelOfReason = (code: string): string => {
  const words = code.replaceAll('_', ' ').toLowerCase()
  return t.codes[code] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns the advice to show below the API's message, or an empty text if the message already ends with advice. */
const leftToSay = (todo: string, message: string, dryRun: boolean): string => {
  if (/retry this run|start another dry run|authorise another run/i.test(message)) return ''
  return dryRun ? t.dryRunStopped : todo
}

export const adviceOf = ({code, outcome, message}: {code: string | null; outcome: string; message?: string | null}): string | null => {
  if (outcome === 'unanswered') return t.unanswered[code ?? ''] ?? t.lookedFor
  if (code !== null && t.advice[code]) return t.advice[code]
  if (code?.startsWith('EXPRESSION')) return t.expressionFails
  if (message?.includes('may exist')) return t.lookYourself
  if (outcome === 'refused') return t.fixInCrmOrFile
  return outcome === 'failed' ? t.fixInFile : null
}
