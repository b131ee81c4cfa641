import {type MapRequest, mapInSlices} from '../../assistant/matcher/map-slices.ts'
import {likeness} from '../../assistant/matcher/propose.ts'
import {measureFile} from '../../mapping/data-contracts/measure.ts'
import {readColumnValues} from '../../mapping/values/column-values.ts'
import {findCorrections} from '../../runs/corrections/find-corrections.ts'
import {failedRows, resultRows} from '../../runs/results/result-rows.ts'
import type {RowOutcome} from '../../runs/results/row-result.ts'
import {readRowCells} from '../../runs/row-cells.ts'
import {listHeaderCandidates} from '../header-candidates.ts'
import type {NewFile} from '../new-file.ts'
import {applyChanges} from '../sources/changes.ts'
import {describeEvidence, type FileFacts} from '../sources/describe.ts'
import {readNewSource, readSheet} from '../sources/read.ts'
import {previewRows} from '../sources/rows.ts'
import type {FileDeps} from '../stored-file.ts'

/** The tasks whose time grows with a tenant's file. Inputs and outputs are plain data, because they are sent between threads. */
const tasks = {
  readNew: (deps: FileDeps, file: NewFile) => readNewSource(deps, file),
  readSheet,
  change: applyChanges,
  preview: previewRows,
  headerCandidates: listHeaderCandidates,
  values: readColumnValues,
  corrections: findCorrections,
  cells: readRowCells,
  measure: measureFile,
  describe: async (_: FileDeps, facts: FileFacts) => describeEvidence(facts),
  propose: async (_: FileDeps, request: MapRequest) => mapInSlices(request),
  likeness: async (_: FileDeps, request: Omit<MapRequest, 'accepted'>) => likeness(request),
}

export type TaskName = keyof typeof tasks
export type TaskInput<Name extends TaskName> = Parameters<(typeof tasks)[Name]>[1]
export type TaskOutput<Name extends TaskName> = Awaited<ReturnType<(typeof tasks)[Name]>>

export const runTask = <Name extends TaskName>(name: Name, deps: FileDeps, input: TaskInput<Name>): Promise<TaskOutput<Name>> =>
  (tasks[name] as (deps: FileDeps, input: TaskInput<Name>) => Promise<TaskOutput<Name>>)(deps, input)

/**
 * Tasks that write a file in chunks, from a stored file and the outcomes of its rows. At its end, `results` returns the first row of the next part,
 * or null after the last part. `failed` has one part, so it returns null.
 */
const streams = {results: resultRows, failed: failedRows}

export type StreamName = keyof typeof streams
export type StreamInput<Name extends StreamName> = Parameters<(typeof streams)[Name]>[1]
export type StreamItems = AsyncIterable<RowOutcome[]>
export type FileChunks = ReturnType<(typeof streams)[StreamName]>

export const runStream = <Name extends StreamName>(name: Name, deps: FileDeps, input: StreamInput<Name>, items: StreamItems): FileChunks =>
  (streams[name] as (deps: FileDeps, input: StreamInput<Name>, items: StreamItems) => FileChunks)(deps, input, items)
