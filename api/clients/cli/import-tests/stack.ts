import {type ChildProcess, spawn} from 'node:child_process'
import {existsSync} from 'node:fs'
import {getCompileCacheDir} from 'node:module'
import {dirname, join} from 'node:path'
import {type Client, type Json, openClient} from '../../http.ts'
import {EXIT} from '../exit-codes.ts'
import {Failure, usage} from '../failure.ts'
import {openProgram, packageFolder} from '../program-copy.ts'
import type {Session} from '../session.ts'

/** An org of the test stack. `connections` has for each connection of the discovery its new id (`now`) and its CRM org at the stand-in. */
export type TestOrg = {session: Session; crm: Client; connections: {connectorId: string; now: string; crm: string}[]}
export type TestStack = {openOrg(connections: Json[]): Promise<TestOrg>; stop(): Promise<void>}

const script = join('test', 'stack', 'import-tests.ts')

/**
 * Starts the service with a CRM stand-in as a child process. The child ends when this process ends, also after a crash. An installed package is
 * copied below `directory` once.
 */
export const startTestStack = async (directory: string, signal: AbortSignal): Promise<TestStack> => {
  if (!existsSync(join(packageFolder, script)))
    throw usage('This installation has no service', 'Install the whole package, or run it in a checkout')
  const compiled = getCompileCacheDir()
  const args = [join(openProgram(directory), script), ...(compiled ? [dirname(compiled)] : [])]
  const child = spawn(process.execPath, args, {stdio: ['ignore', 2, 2, 'ipc']})
  const stop = () => stopChild(child)
  signal.addEventListener('abort', () => void stop(), {once: true})
  const {apiUrl, crmUrl} = await nextMessage(child, () => true)
  let requests = 0
  const openOrg = async (connections: Json[]): Promise<TestOrg> => {
    const id = (requests += 1)
    child.send({id, connections})
    const {opened, error} = await nextMessage(child, message => message.id === id)
    if (error) throw new Failure(`The test org could not be opened: ${error}`, {exit: EXIT.failed, code: 'TEST_STACK'})
    const client = openClient({base: apiUrl, bearer: () => opened.token})
    const path = (rest: string) => `/orgs/${opened.org}/${rest}`
    const session = {client, server: apiUrl, org: opened.org, path, keepFresh: async () => {}}
    return {session, crm: openClient({base: crmUrl}), connections: opened.connections}
  }
  return {openOrg, stop}
}

const nextMessage = (child: ChildProcess, isWanted: (message: Json) => boolean) =>
  new Promise<Json>((resolve, reject) => {
    const ended = (code: number | null) =>
      reject(new Failure(`The test stack ended with ${code ?? 'a signal'}`, {exit: EXIT.failed, code: 'TEST_STACK'}))
    const heard = (message: Json) => {
      if (!isWanted(message)) return
      child.off('exit', ended).off('message', heard)
      resolve(message)
    }
    child.on('message', heard).once('exit', ended)
  })

/** Asks the child to stop, and waits until the child has removed its files. The child may live longer, while Node writes the compile cache. */
const stopChild = async (child: ChildProcess) => {
  if (!child.connected) return
  const {promise, resolve} = Promise.withResolvers<void>()
  child.once('exit', () => resolve()).on('message', ({stopped}: Json) => stopped && resolve())
  child.send({stop: true})
  await promise
  if (child.connected) child.disconnect()
  child.unref()
}
