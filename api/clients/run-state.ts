type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad'
type StatedRun = {
  state: string
  dryRun: boolean
  stop: {stopped: string} | null
  counts: Record<string, Record<string, number>>
  questions: number
  /** The number of answered questions. Absent in earlier versions of Lading. */
  questionsAnswered?: number
  /** The id of the run that retries this run and asks the same questions. Absent in earlier versions of Lading. */
  retriedBy?: string | null
  pause?: {code: string} | null
  /** Skipped rows whose record already had every value. Absent in earlier versions of Lading. */
  unchanged?: number
  /** Skipped rows whose values people changed in the CRM. Absent in earlier versions of Lading. */
  keptRows?: number
  /** The run that this run undoes. Absent in earlier versions of Lading. */
  undoOf?: string | null
  /** Rows counted against the plan so far. Includes skipped rows whose fields a later pass wrote. Absent in some answers. */
  rowsWritten?: number
  /** Whether the run deletes records, and writes nothing else. Absent in earlier versions of Lading. */
  deletes?: boolean
  /** Rows whose record was deleted. Absent in earlier versions of Lading. */
  deleted?: number
}

/** How a run ended, with the number of rows or questions that need a person. */
type RunEnd = {
  key: 'imported' | 'attention' | 'questions' | 'asks' | 'answered' | 'nothing' | 'failed' | 'stopped' | 'cancelled'
  rows: number
}

export const endOfRun = (run: Omit<StatedRun, 'state'>): RunEnd => {
  const {dryRun, stop, counts, questions, questionsAnswered = 0, retriedBy = null, unchanged = 0, keptRows = 0, rowsWritten = 0} = run
  const rows = (...outcomes: string[]) =>
    Object.values(counts).reduce((sum, of) => outcomes.reduce((part, outcome) => part + (of[outcome] ?? 0), sum), 0)
  const attention = rows('failed', 'refused', 'unanswered')
  const done = rows('created', 'updated', 'inherited', 'planned')
  if (stop?.stopped === 'CANCELLED') return {key: 'cancelled', rows: 0}
  // A dry run that reaches the row limit is complete. Its page shows where a run would stop.
  if (stop && !(dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN'))
    return {key: stop.stopped === 'ENGINE_FAILED' ? 'failed' : 'stopped', rows: 0}
  const isOpen = !dryRun && retriedBy === null
  if (isOpen && questions > questionsAnswered) return {key: 'questions', rows: questions - questionsAnswered}
  if (isOpen && questions > 0) return {key: 'answered', rows: questions}
  // A real run would ask these questions. A repeated dry run reports them again.
  if (dryRun && questions > 0 && attention === 0) return {key: 'asks', rows: questions}
  // A pass after all rows can fill fields of a skipped row, so `rowsWritten` is checked too.
  if (attention === 0) return {key: done > 0 || (!dryRun && rowsWritten > 0) ? 'imported' : 'nothing', rows: 0}
  // A row without an answer may have been written, so the run may not have failed.
  return {key: done + unchanged + keptRows + rows('unanswered') === 0 ? 'failed' : 'attention', rows: attention}
}

/** The words of a run's state in English. A translation has the same shape. */
export const runWords = {
  stopping: 'Stopping',
  active: {authorised: 'Not started', queued: 'Queued', writing: 'Running', paused: 'Paused', closing: 'Finishing'} as Record<
    string,
    string
  >,
  held: 'Held',
  done: {deleted: 'Deleted', imported: 'Imported', previewed: 'Previewed', undone: 'Undone'},
  attention: (done: string, count: string, rows: number) => `${done}, ${count} ${rows === 1 ? 'needs' : 'need'} attention`,
  questions: (count: string) => `Needs your answer (${count})`,
  answered: 'Questions answered',
  asks: (count: string, questions: number) => `Previewed, ${count} ${questions === 1 ? 'question' : 'questions'}`,
  nothing: {
    imported: 'Nothing imported',
    previewed: 'Nothing to import',
    deleted: 'Nothing deleted',
    deletePreviewed: 'Nothing to delete',
    undone: 'Nothing undone',
    undoPreviewed: 'Nothing to undo',
  },
  allWouldFail: 'All rows would fail',
  failed: 'Failed',
  stopped: 'Stopped',
  cancelled: 'Cancelled',
}

export const undoWords = {
  rows: (restored: string, deleted: string, kept: string) => `${restored} restored, ${deleted} deleted, ${kept} kept`,
  keptValues: (count: string, values: number) => `, ${count} changed ${values === 1 ? 'value' : 'values'} kept`,
}

/** Returns the label of a run's state, with its colour. `count` formats a number. */
export const describeRunState = (run: StatedRun, count: (rows: number) => string, words = runWords): {word: string; tone: Tone} => {
  if (run.state === 'ended') return describeEnd(endOfRun(run), run, count, words)
  if (run.stop) return {word: words.stopping, tone: 'warning'}
  if (run.pause?.code === 'GUARD') return {word: words.held, tone: 'warning'}
  return {word: words.active[run.state] ?? run.state, tone: run.state === 'paused' ? 'warning' : 'info'}
}

const describeEnd = (
  {key, rows}: RunEnd,
  run: StatedRun,
  count: (rows: number) => string,
  words: typeof runWords,
): {word: string; tone: Tone} => {
  const {dryRun} = run
  const done = doneWord(run, words)
  if (key === 'imported') return {word: done, tone: 'good'}
  if (key === 'attention') return {word: words.attention(done, count(rows), rows), tone: 'warning'}
  if (key === 'questions') return {word: words.questions(count(rows)), tone: 'warning'}
  if (key === 'asks') return {word: words.asks(count(rows), rows), tone: 'info'}
  if (key === 'answered') return {word: words.answered, tone: 'info'}
  if (key === 'nothing') return {word: words.nothing[kindOfNothing(run)], tone: 'neutral'}
  if (key === 'failed') return {word: dryRun ? words.allWouldFail : words.failed, tone: 'bad'}
  return key === 'stopped' ? {word: words.stopped, tone: 'bad'} : {word: words.cancelled, tone: 'neutral'}
}

/** Returns the word for a run that did its work. A run that deletes records writes nothing else. */
const doneWord = (run: StatedRun, {done}: typeof runWords): string => {
  if (run.dryRun) return done.previewed
  if (run.undoOf) return done.undone
  return deletesRecords(run) ? done.deleted : done.imported
}

const kindOfNothing = (run: StatedRun) => {
  if (run.undoOf) return run.dryRun ? 'undoPreviewed' : 'undone'
  if (deletesRecords(run)) return run.dryRun ? 'deletePreviewed' : 'deleted'
  return run.dryRun ? 'previewed' : 'imported'
}

/** Whether a run deletes the records of its rows. Earlier servers do not send `deletes`; the result is then true once a record was deleted. */
export const deletesRecords = ({deletes, deleted = 0}: Pick<StatedRun, 'deletes' | 'deleted'>): boolean => deletes ?? deleted > 0

type Undone = {undo?: {restored: number; deleted: number; changedSince: number} | null; keptEdits?: number}

/** Describes what an undo did or would do, for example "418 restored, 37 deleted, 5 kept". Null: the run is no undo. */
export const describeUndone = ({undo, keptEdits = 0}: Undone, count: (rows: number) => string, words = undoWords): string | null => {
  if (!undo) return null
  const rows = words.rows(count(undo.restored), count(undo.deleted), count(undo.changedSince))
  return keptEdits > 0 ? rows + words.keptValues(count(keptEdits), keptEdits) : rows
}
