import type {Run} from './run.ts'

/** Why a run is paused or stopped, and what to do. `go` is a link to the page for it. */
export type ReasonOfRow = {title: string; message: string; todo: string; go?: {label: string; parts: string[]}}

type Words = Pick<ReasonOfRow, 'title' | 'todo' | 'go'>

const pauses: Record<string, Words> = {
  DAILY_ALLOWANCE_SPENT: {
    title: "The CRM's daily API quota is exhausted",
    todo: 'The run resumes automatically. Cancel it if you do not want to wait.',
  },
  RATE_LIMITED: {title: "The CRM's rate limit was reached", todo: 'The run resumes automatically in a moment.'},
  CRM_UNAVAILABLE: {title: 'The CRM is not responding', todo: 'The run resumes automatically.'},
  CONNECTION_UNAVAILABLE: {
    title: 'The CRM refuses the connection',
    todo: 'The run retries automatically. If this lasts, connect the CRM again under Connections.',
    go: {label: 'Connections', parts: ['connections']},
  },
  CONNECTION_THROTTLED: {title: 'The CRM limits how often access is renewed', todo: 'The run resumes automatically.'},
  WRITES_PAUSED: {
    title: 'Writing is paused',
    todo: 'Ask an admin to resume writing under Connections. The run then resumes automatically.',
    go: {label: 'Connections', parts: ['connections']},
  },
  ORG_CLOSED: {title: 'This organisation is closed', todo: 'The run resumes when the organisation is reopened.'},
  FROM_FUTURE: {title: 'The service is being updated', todo: 'The run resumes after the update. Nothing is lost.'},
  SANDBOX_UNAVAILABLE: {title: 'Expressions are temporarily unavailable', todo: 'The run retries automatically.'},
  UNAVAILABLE: {title: 'A part of the service is unavailable', todo: 'The run retries automatically.'},
}

const stops: Record<string, Words> = {
  CANCELLED: {title: 'The run was cancelled', todo: 'Retry it to continue. Rows already written are not written again.'},
  LIMIT_ROWS_PER_RUN: {
    title: 'The run reached its row limit',
    todo: 'Retry it to write the remaining rows, or check the limits of your plan.',
    go: {label: 'Plan and usage', parts: ['settings', 'plan']},
  },
  GRANT_ENDED: {
    title: 'The connection has ended',
    todo: 'Connect the CRM again, then retry the run.',
    go: {label: 'Connections', parts: ['connections']},
  },
  CRM_REFUSED: {title: 'The CRM refused this run', todo: 'Fix the problem in the CRM, then retry the run.'},
  FIELD_NOT_UNIQUE: {
    title: 'The idempotency field of a module was changed in the CRM',
    todo: 'Correct the field in the CRM and read it again, or change the module under Settings. Then retry the run.',
    go: {label: 'Modules', parts: ['settings', 'modules']},
  },
  LAPSED: {title: 'The run was paused for too long', todo: 'Check that the CRM is reachable, then retry the run.'},
  FILE_GONE: {
    title: 'The file was deleted',
    todo: 'Upload the file to a new import, and match existing records in it, so that no written row is created again.',
    go: {label: 'Imports', parts: ['imports']},
  },
  EXPRESSION_TIMEOUT: {title: 'An expression takes too long', todo: 'Simplify the expression in the mapping, then retry the run.'},
  ENGINE_FAILED: {
    title: 'The run failed because of an internal error',
    todo: 'Retry it later. If it happens again, contact support.',
  },
}

/** Returns why a run is paused or stopped, or null. The page shows the server's message between title and advice. */
export const whyOf = ({pause, stop, state, dryRun}: Pick<Run, 'pause' | 'stop' | 'state' | 'dryRun'>): ReasonOfRow | null => {
  if (stop && dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN')
    return {
      title: 'A run would stop before its end',
      message: stop.message,
      todo: 'Choose fewer rows, or check the limits of your plan.',
    }
  if (stop) {
    const known = stops[stop.stopped] ?? {title: 'The run was stopped', todo: 'Fix the problem, then retry the run.'}
    const isEnding = state !== 'ended' && stop.stopped === 'CANCELLED'
    const title = isEnding ? 'Cancelling: waiting for batches in flight' : known.title
    return {
      ...known,
      title: dryRun ? title.replace('The run', 'The dry run') : title,
      message: stop.message,
      todo: leftToSay(known.todo, stop.message, dryRun),
    }
  }
  if (!pause || state === 'ended') return null
  const known = pauses[pause.code] ?? {title: 'The run is paused', todo: 'It resumes automatically.'}
  return {...known, message: pause.message}
}

/** Returns the advice to show below the server's message, or an empty text if the message already ends with advice. */
const leftToSay = (todo: string, message: string, dryRun: boolean): string => {
  if (/retry this run|start another dry run|authorise another run/i.test(message)) return ''
  return dryRun ? 'Nothing was written. Fix the problem, then start another dry run.' : todo
}

const lookedFor = 'Retry the run. It searches for the record first, so it is not created twice.'
const lookYourself = "Search for the row's record in the CRM. Import the row again only if it is not there."

/** Advice for unanswered rows, by code. */
const unansweredAdvice: Record<string, string> = {
  RESEND_SAFE: 'Retry the run. A unique field prevents a duplicate record.',
  KEY_UNANSWERED: 'Another row with the same match value has no answer. Search for its record in the CRM, then retry.',
  RECORD_HELD: "The CRM returned another row's record for this row. Search for this row's record in the CRM, then retry the run.",
  MAYBE_MADE: 'Several CRM records equal this row. Check them in the CRM, and import the row again only if none belongs to it.',
  SENT_BEFORE: lookYourself,
  PAYLOAD_CHANGED: 'Set the mapping back to what it was when the row was sent, then retry.',
}

/** Advice for other rows, by codes of the service and frequent codes of the CRM. */
const advice: Record<string, string> = {
  INVALID_VALUE: 'Change the value in the file, or the mapping.',
  AMBIGUOUS_VALUE: 'Choose under Columns how to read such values.',
  TOO_LONG: 'Shorten the value in the file or with an expression.',
  VALUE_UNMAPPED: 'Add the value to the value map of the field, then retry.',
  NOT_IN_PICKLIST: 'Map the value to an option, or add the option in the CRM.',
  MANDATORY_NOT_FOUND: 'A required field is empty. Fill it in the file, or map it.',
  INVALID_DATA: 'The CRM does not accept a value. Change it in the file, or change the mapping.',
  DUPLICATE_DATA: 'A record with this value already exists. Match by this field to update it.',
  MATCH_MANY: 'Several records match. Answer the questions, then retry.',
  MATCH_ONE: 'A record already exists, and the mapping skips such rows.',
  MATCH_EMPTY: 'The row has no value to find its record by. Fill it in the file to delete the record.',
  MATCH_NONE: 'No record has this value, so none was deleted.',
  GONE: 'The record is not in the CRM any more. No action is needed.',
  KEPT_EDIT: 'A person changed the value in the CRM, so it was kept. To write it, choose “overwrite” in the mapping and import again.',
  EDITED: 'A person changed the value in the CRM. Answer the questions, then retry.',
  UNCHANGED: 'The record already holds these values. No action is needed.',
  MATCH_SKIPPED: 'You chose to skip this row. To write it, change your answer and retry.',
  MATCH_REFUSED: 'The CRM cannot search for this value. Change it, or match by another field.',
  LOOKUP_MANY: 'Several records match the lookup. Answer the questions, then retry.',
  LOOKUP_NONE: 'No record matches the lookup. Import the missing records first, or correct the value.',
  LOOKUP_REFUSED: 'The CRM cannot search for this lookup value. Correct the value.',
  PARENT_FAILED: 'The parent row was not written. Fix the parent row, then retry.',
  PARENT_MANY: 'Several parents match this row. Make the parent unique in the file.',
  PAYLOAD_CHANGED: 'Set the mapping back to what it was when the row was sent, then retry.',
  MAYBE_MADE: lookYourself,
  SENT_BEFORE: lookYourself,
  ROW_RAGGED: 'The row has more or fewer cells than the header. Fix the row in the file.',
  ROW_EMPTY: 'The row is empty. No action is needed.',
  ROWS_MISSING: 'A new record needs at least one subform row. Add one to the file of the subform rows, then retry.',
  ROWS_FAILED: 'A subform row of this record has an error. Fix that row, then retry.',
  ROWS_APART: 'Put the rows of one record next to each other in the file.',
  ROW_OF_SAME_PARENT: 'Fix the other row of the same record, then retry.',
  BATCH_SIZE: 'The record has too many rows for the CRM. Split them.',
  NO_PERMISSION: "The connection's CRM user lacks permission. Ask the CRM administrator.",
}

export const adviceOf = ({code, outcome, message}: {code: string | null; outcome: string; message?: string | null}): string | null => {
  if (outcome === 'unanswered') return unansweredAdvice[code ?? ''] ?? lookedFor
  if (code !== null && advice[code]) return advice[code]
  if (code?.startsWith('EXPRESSION')) return 'The expression fails for this row. Fix it under Mapping.'
  if (message?.includes('may exist')) return lookYourself
  if (outcome === 'refused') return 'Fix the problem in the CRM or in the file, then retry.'
  return outcome === 'failed' ? 'Fix the problem in the file or under Mapping, then retry.' : null
}
