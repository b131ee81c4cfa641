import type {CheckProblem} from '../../shared/checks/problem.ts'
import type {FilePlace} from '../../shared/imports/stored-file.ts'
import {readChunks} from '../engine/reading.ts'
import type {Track} from '../engine/row.ts'
import {addSample, type Findings} from './findings.ts'
import {cellAt, columnName, fillerOf} from './flow-rows.ts'
import type {Repeat, Repeats} from './repeats.ts'
import type {Slot} from './track-keys.ts'

type Told = {problem: CheckProblem; track: Track; column: number | null}

/** Turns keys that came twice into problems. Their cells are read again, as far as the last row that is shown. */
export const noteRepeats = async (place: FilePlace, findings: Findings, repeats: Repeats, slots: Slot[]): Promise<void> => {
  const told = new Map<CheckProblem, Told>()
  for await (const repeat of repeats.find()) {
    const one = noteRepeat(findings, repeat, slots)
    if (one) told.set(one.problem, one)
  }
  const left = repeats.left()
  if (left)
    findings.note(
      {severity: 'warning', kind: 'repeats_unchecked'},
      {count: left, message: 'Beyond 50,000,000 values, repeated ones are not looked for'},
    )
  for (const [track, of] of Map.groupBy(
    [...told.values()].filter(({column}) => column !== null),
    ({track}) => track,
  ))
    await addSamples(place, track, of)
}

const noteRepeat = (findings: Findings, {row, slot, earlier, isSame}: Repeat, slots: Slot[]): Told | null => {
  const {track, field} = slots[slot]!
  if (field && isSame) return null
  const isElsewhere = slots[earlier.slot]!.track !== track
  const name = field?.apiName ?? track.matchFields[0]!.apiName
  const column = fillerOf(track, name)?.column ?? null
  const spot = {
    ...{severity: field && !isElsewhere ? ('error' as const) : ('warning' as const), kind: field ? 'duplicate_value' : 'duplicate_match'},
    ...{source: track.source, flow: track.id, module: track.module.apiName, field: name, column: columnName(track, column)},
  }
  const before = isElsewhere ? `row ${earlier.row} of flow ${slots[earlier.slot]!.track.id}` : `row ${earlier.row}`
  const problem = findings.note(spot, {
    row,
    message: field ? `The value is that of ${before}, and ${name} takes each once` : matched(track, before),
  })
  return {problem, track, column}
}

const matched = ({onOne}: Track, before: string) =>
  onOne === 'skip' ? `The row matches as ${before} does, and is skipped` : `The row matches as ${before} does, and is written over it`

const shown = 5

const addSamples = async (place: FilePlace, track: Track, told: Told[]) => {
  const wanted = told.flatMap(({problem, column}) => problem.rows.slice(0, shown).map(row => ({row, column, problem})))
  const last = Math.max(...wanted.map(({row}) => row))
  for await (const chunk of readChunks(place, track)) {
    for (const read of chunk)
      for (const {problem, column} of wanted.filter(({row}) => row === read.rowNumber)) addSample(problem, cellAt(read, column) ?? '')
    if (chunk.at(-1)!.rowNumber >= last) return
  }
}
