import type {NewFile} from '../imports/new-file.ts'
import type {FilePlace} from '../imports/stored-file.ts'
import {applyChanges} from '../sources/changes.ts'
import {describeEvidence, type Facts} from '../sources/describe.ts'
import {readNewSource, readSheet} from '../sources/read.ts'
import {previewRows} from '../sources/rows.ts'

/** All work whose time grows with a tenant's file. Inputs and outputs cross between threads: they are plain data. */
export const tasks = {
  readNew: (place: FilePlace, file: NewFile) => readNewSource(place, file),
  readSheet,
  change: applyChanges,
  preview: previewRows,
  describe: async (_: FilePlace, facts: Facts) => describeEvidence(facts),
}

export type TaskName = keyof typeof tasks
export type TaskInput<Name extends TaskName> = Parameters<(typeof tasks)[Name]>[1]
export type TaskOutput<Name extends TaskName> = Awaited<ReturnType<(typeof tasks)[Name]>>

export const runTask = <Name extends TaskName>(name: Name, place: FilePlace, input: TaskInput<Name>): Promise<TaskOutput<Name>> =>
  (tasks[name] as (place: FilePlace, input: TaskInput<Name>) => Promise<TaskOutput<Name>>)(place, input)
