import {type MessagePort, parentPort, workerData} from 'node:worker_threads'
import {openStorage, type StorageConfig} from '../../storage/storage.ts'
import type {FileDeps} from '../stored-file.ts'
import {type ParserFailure, packError} from './failure.ts'
import {receiveItems, sendItems} from './item-ports.ts'
import {runStream, runTask, type StreamInput, type StreamName, type TaskInput, type TaskName, type TaskOutput} from './tasks.ts'

export type ThreadData = {storage: StorageConfig; limits: FileDeps['config']}
export type StreamPorts = {items: MessagePort; output: MessagePort}
export type TaskRequest = {name: TaskName; input: TaskInput<TaskName>}
export type StreamRequest = {stream: StreamName; input: StreamInput<StreamName>; ports: StreamPorts}
export type Answer = {output: TaskOutput<TaskName> | null} | {failure: ParserFailure}

// This module is the entry point of a parser thread, which runs one task at a time.
const {storage, limits} = workerData as ThreadData
const place: FileDeps = {storage: openStorage(storage), config: limits}
const port = parentPort!

const execute = async (request: TaskRequest | StreamRequest) => {
  if ('name' in request) return runTask(request.name, place, request.input)
  const {stream, input, ports} = request
  try {
    await sendItems(ports.output, runStream(stream, place, input, receiveItems(ports.items)))
  } finally {
    // The port of the items is closed here, because a task that fails early has not read the items.
    ports.items.close()
  }
  return null
}

port.on('message', async (request: TaskRequest | StreamRequest) => {
  try {
    const output = await execute(request)
    port.postMessage({output}, output instanceof Uint8Array ? [output.buffer] : [])
  } catch (error) {
    port.postMessage({failure: packError(error)})
  }
})
