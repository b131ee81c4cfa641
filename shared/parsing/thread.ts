import {parentPort, workerData} from 'node:worker_threads'
import type {FilePlace} from '../imports/stored-file.ts'
import {openStorage, type StorageConfig} from '../storage.ts'
import {type Failure, packError} from './failure.ts'
import {runTask, type TaskInput, type TaskName, type TaskOutput} from './tasks.ts'

export type ThreadData = {storage: StorageConfig; limits: FilePlace['config']}
export type Request = {name: TaskName; input: TaskInput<TaskName>}
export type Answer = {output: TaskOutput<TaskName>} | {failure: Failure}

/** A thread in which files are read: one task at a time. */
const {storage, limits} = workerData as ThreadData
const place: FilePlace = {storage: openStorage(storage), config: limits}
const port = parentPort!

port.on('message', async ({name, input}: Request) => {
  try {
    const output = await runTask(name, place, input)
    port.postMessage({output}, output instanceof Uint8Array ? [output.buffer] : [])
  } catch (error) {
    port.postMessage({failure: packError(error)})
  }
})
