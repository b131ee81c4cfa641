import type {Run} from './run.ts'

/** What keeps a run from going on, and what a person can do about it. `go`: where that is done, as parts of an address. */
export type Why = {title: string; message: string; todo: string; go?: {label: string; parts: string[]}}

type Words = Pick<Why, 'title' | 'todo' | 'go'>

const pauses: Record<string, Words> = {
  DAILY_ALLOWANCE_SPENT: {
    title: "The CRM's daily allowance is used up",
    todo: 'Nothing to do: the run goes on by itself. Cancel it if you would rather not wait.',
  },
  RATE_LIMITED: {title: 'The CRM asks to slow down', todo: 'Nothing to do: the run goes on by itself in a moment.'},
  CRM_UNAVAILABLE: {title: 'The CRM does not answer', todo: 'Nothing to do: the run goes on by itself.'},
  CONNECTION_UNAVAILABLE: {
    title: 'The CRM refuses the connection',
    todo: 'The run tries again by itself. If this lasts, connect the CRM again under Connections.',
    go: {label: 'Connections', parts: ['connections']},
  },
  CONNECTION_THROTTLED: {title: 'The CRM limits how often access is renewed', todo: 'Nothing to do: the run continues by itself.'},
  WRITES_PAUSED: {
    title: 'Writes on this connection are paused',
    todo: 'An administrator lifts the pause under Connections; the run then goes on by itself.',
    go: {label: 'Connections', parts: ['connections']},
  },
  ORG_CLOSED: {title: 'This organisation is closed', todo: 'The run goes on when the organisation is opened again.'},
  FROM_FUTURE: {title: 'The service is being updated', todo: 'The run goes on when its workers are updated. Nothing is lost.'},
  SANDBOX_UNAVAILABLE: {title: 'Expressions cannot be run just now', todo: 'Nothing to do: the run looks again in half a minute.'},
  UNAVAILABLE: {title: 'A part of the service is away', todo: 'Nothing to do: the run looks again in half a minute.'},
}

const stops: Record<string, Words> = {
  CANCELLED: {title: 'The run was cancelled', todo: 'Retry it to carry on: rows it has written are not written again.'},
  LIMIT_ROWS_PER_RUN: {
    title: 'The run has written all the rows it may',
    todo: 'Retry it to carry on with the rows that are left, or look at what your plan has room for.',
    go: {label: 'Plan and usage', parts: ['settings', 'plan']},
  },
  GRANT_ENDED: {
    title: 'The connection has ended',
    todo: 'Connect the CRM again, then retry the run.',
    go: {label: 'Connections', parts: ['connections']},
  },
  CRM_REFUSED: {title: 'The CRM refuses this run', todo: 'Correct in the CRM what the message names, then retry the run.'},
  LAPSED: {title: 'The run was paused for too long', todo: 'See that the CRM can be reached, then retry the run.'},
  FILE_GONE: {
    title: 'The file is no longer here',
    todo: 'Make a new import and add the file again.',
    go: {label: 'Imports', parts: ['imports']},
  },
  EXPRESSION_TIMEOUT: {title: 'An expression takes too long', todo: 'Make the expression of the mapping simpler, then retry the run.'},
  ENGINE_FAILED: {
    title: 'The service could not carry the run',
    todo: 'Retry it later. If it happens again, tell whoever runs this service.',
  },
}

/** Why it waits or has ended early; null where it does neither. The server's own words stand between. */
export const whyOf = ({pause, stop, state, dryRun}: Pick<Run, 'pause' | 'stop' | 'state' | 'dryRun'>): Why | null => {
  if (stop && dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN')
    return {
      title: 'A run would stop before its end',
      message: stop.message,
      todo: 'Narrow the rows, or look at what your plan has room for.',
    }
  if (stop) {
    const known = stops[stop.stopped] ?? {title: 'The run was stopped', todo: 'Mend what is said here, then retry the run.'}
    const isEnding = state !== 'ended' && stop.stopped === 'CANCELLED'
    const title = isEnding ? 'The run is being cancelled: what is on its way is waited for' : known.title
    return {
      ...known,
      title: dryRun ? title.replace('The run', 'The dry run') : title,
      message: stop.message,
      todo: leftToSay(known.todo, stop.message, dryRun),
    }
  }
  if (!pause || state === 'ended') return null
  const known = pauses[pause.code] ?? {title: 'The run is paused', todo: 'It goes on by itself as soon as it can.'}
  return {...known, message: pause.message}
}

/** The server's words mostly end with how to carry on: it is not said twice. */
const leftToSay = (todo: string, message: string, dryRun: boolean): string => {
  if (/retry this run|start another dry run|authorise another run/i.test(message)) return ''
  return dryRun ? 'Nothing was written: start another dry run when that is mended.' : todo
}

const lookedFor = 'Retry: the record is looked for first, so it is not made twice.'
const lookYourself = "Look for the row's record in the CRM. Write the row again only if it is not there."

/** What to do about rows that were sent and not answered, by the code they ended with. */
const unansweredAdvice: Record<string, string> = {
  RESEND_SAFE: 'Retry: a unique field keeps the CRM from making the record twice.',
  KEY_UNANSWERED: 'Another row with the same match value has no answer. Look for its record in the CRM, then retry.',
  RECORD_HELD: "The CRM named another row's record for this row. Look for this row's record in the CRM, then retry the run.",
  MAYBE_MADE:
    'Records in the CRM equal this row, and none is certainly its own. Choose in the CRM, and write the row again only if none is.',
  SENT_BEFORE: lookYourself,
  PAYLOAD_CHANGED: 'Set the mapping back to what it was when the row was sent, then retry.',
}

/** What to do about other rows that ended with this code, by the service's own codes and the CRM's most frequent ones. */
const advice: Record<string, string> = {
  INVALID_VALUE: 'Change the value in the file, or how the mapping reads it.',
  AMBIGUOUS_VALUE: 'Say under Columns how such values are read.',
  TOO_LONG: 'Shorten the value in the file or by an expression.',
  NOT_IN_PICKLIST: 'Map the value to one the CRM knows, or add it to the list at the CRM.',
  MANDATORY_NOT_FOUND: 'The CRM asks for a field the row does not have: fill it in the file, or map it.',
  INVALID_DATA: 'The CRM does not take a value of the row: change it in the file, or how it is mapped.',
  DUPLICATE_DATA: 'A record with this value is there already: match by that field to change it instead.',
  MATCH_MANY: 'Several records match: answer the questions, then retry.',
  MATCH_ONE: 'A record is there already, and the mapping leaves it as it is.',
  MATCH_SKIPPED: 'You chose to skip it. Answer otherwise and retry, if you want it written.',
  MATCH_REFUSED: 'The CRM cannot search by this value: change it, or match by another field.',
  LOOKUP_MANY: 'Several records fit the link: answer the questions, then retry.',
  LOOKUP_NONE: 'No record fits the link: import those first, or correct the value.',
  LOOKUP_REFUSED: 'The CRM cannot search for this link: correct the value.',
  PARENT_FAILED: 'The row it belongs to was not written: mend that one first, then retry.',
  PARENT_MANY: 'Several rows or records fit as what it belongs to: make that plain in the file.',
  PAYLOAD_CHANGED: 'Set the mapping back to what it was when the row was sent, then retry.',
  MAYBE_MADE: lookYourself,
  SENT_BEFORE: lookYourself,
  ROW_RAGGED: 'The row has more or fewer cells than the header: mend it in the file.',
  ROW_EMPTY: 'Nothing to do: there is nothing in the row.',
  ROWS_APART: 'Put the rows of one record next to each other in the file.',
  ROW_OF_SAME_PARENT: 'Mend the other row of the same record, then retry.',
  BATCH_SIZE: 'Split the rows of this record: the CRM takes fewer at once.',
  NO_PERMISSION: "The connection's CRM user may not write this: ask the CRM's administrator.",
}

export const adviceOf = ({code, outcome, message}: {code: string | null; outcome: string; message?: string | null}): string | null => {
  if (outcome === 'unanswered') return unansweredAdvice[code ?? ''] ?? lookedFor
  if (code !== null && advice[code]) return advice[code]
  if (code?.startsWith('EXPRESSION')) return 'The expression fails with the values of this row: mend it under Mapping.'
  if (message?.includes('may exist')) return lookYourself
  if (outcome === 'refused') return 'Mend at the CRM or in the file what it says, then retry.'
  return outcome === 'failed' ? 'Mend it in the file or under Mapping, then retry.' : null
}
