type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad'
type StatedRun = {
  state: string
  dryRun: boolean
  stop: {stopped: string} | null
  counts: Record<string, Record<string, number>>
  questions: number
  /** Skipped rows whose record already held every value. Earlier servers do not send it. */
  unchanged?: number
  /** The run that it undoes. Earlier servers do not send it. */
  undoOf?: string | null
  /** Rows whose record was deleted. Earlier servers do not send it. */
  deleted?: number
}

/** What became of an ended run, with the number of rows or questions that need a person. */
type RunEnd = {
  key: 'imported' | 'attention' | 'questions' | 'nothing' | 'failed' | 'stopped' | 'cancelled'
  rows: number
}

/** Decides what became of an ended run. The widget and the command line show it in the words of `describeRunState`. */
export const endOfRun = ({dryRun, stop, counts, questions, unchanged = 0}: Omit<StatedRun, 'state'>): RunEnd => {
  const rows = (...outcomes: string[]) =>
    Object.values(counts).reduce((sum, of) => outcomes.reduce((part, outcome) => part + (of[outcome] ?? 0), sum), 0)
  const attention = rows('failed', 'refused', 'unanswered')
  const done = rows('created', 'updated', 'inherited', 'planned')
  if (stop?.stopped === 'CANCELLED') return {key: 'cancelled', rows: 0}
  // A dry run that reaches the row limit has done its work: its page says where a run would stop.
  if (stop && !(dryRun && stop.stopped === 'LIMIT_ROWS_PER_RUN'))
    return {key: stop.stopped === 'ENGINE_FAILED' ? 'failed' : 'stopped', rows: 0}
  if (questions > 0) return {key: 'questions', rows: questions}
  if (attention === 0) return {key: done > 0 ? 'imported' : 'nothing', rows: 0}
  // A row without an answer may be written, so the run did not fail for certain.
  return {key: done + unchanged + rows('unanswered') === 0 ? 'failed' : 'attention', rows: attention}
}

/** Returns the label of a run's state, with its colour. `count` formats a number. */
export const describeRunState = (run: StatedRun, count: (rows: number) => string): {word: string; tone: Tone} => {
  if (run.state === 'ended') return describeEnd(endOfRun(run), run, count)
  if (run.stop) return {word: 'Stopping', tone: 'warning'}
  return {word: activeWords[run.state] ?? run.state, tone: run.state === 'paused' ? 'warning' : 'info'}
}

const activeWords: Record<string, string> = {
  authorised: 'Not started',
  queued: 'Queued',
  writing: 'Running',
  paused: 'Paused',
  closing: 'Finishing',
}

const describeEnd = ({key, rows}: RunEnd, run: StatedRun, count: (rows: number) => string): {word: string; tone: Tone} => {
  const {dryRun, undoOf} = run
  const done = doneWord(run)
  if (key === 'imported') return {word: done, tone: 'good'}
  if (key === 'attention') return {word: `${done}, ${count(rows)} ${rows === 1 ? 'needs' : 'need'} attention`, tone: 'warning'}
  if (key === 'questions') return {word: `Needs your answer (${count(rows)})`, tone: 'warning'}
  if (key === 'nothing') return {word: nothingWords(dryRun, Boolean(undoOf)), tone: 'neutral'}
  if (key === 'failed') return {word: dryRun ? 'All rows would fail' : 'Failed', tone: 'bad'}
  return key === 'stopped' ? {word: 'Stopped', tone: 'bad'} : {word: 'Cancelled', tone: 'neutral'}
}

/** A run that deletes records writes nothing else. */
const doneWord = ({dryRun, undoOf, deleted = 0}: StatedRun): string => {
  if (dryRun) return 'Previewed'
  if (undoOf) return 'Undone'
  return deleted > 0 ? 'Deleted' : 'Imported'
}

const nothingWords = (dryRun: boolean, isUndo: boolean): string => {
  if (isUndo) return dryRun ? 'Nothing to undo' : 'Nothing undone'
  return dryRun ? 'Nothing to import' : 'Nothing imported'
}

type Undone = {undo?: {restored: number; deleted: number; changedSince: number} | null; keptEdits?: number}

/** Describes what an undo did or would do, for example "418 restored, 37 deleted, 5 kept". Null: the run is no undo. */
export const describeUndone = ({undo, keptEdits = 0}: Undone, count: (rows: number) => string): string | null => {
  if (!undo) return null
  const {restored, deleted, changedSince} = undo
  const rows = [`${count(restored)} restored`, `${count(deleted)} deleted`, `${count(changedSince)} kept`].join(', ')
  return keptEdits > 0 ? `${rows}, ${count(keptEdits)} changed ${keptEdits === 1 ? 'value' : 'values'} kept` : rows
}
