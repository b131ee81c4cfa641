import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {ApiError, type Json} from '../http.ts'
import {badFile} from './failure.ts'
import type {Session} from './session.ts'
import {formatJson} from './stable-json.ts'

/** The file beside a pulled configuration that describes the CRMs: modules and fields of each connection. It is never pushed. */
export const discoveryFile = 'discovery.json'

export type DiscoveryDocument = {connections: Json[]}

export const parseDiscovery = (path: string, text: string): DiscoveryDocument => {
  try {
    const {connections} = JSON.parse(text)
    if (Array.isArray(connections)) return {connections}
  } catch {}
  throw badFile(`${path} is damaged`, 'Download it again: lading config pull')
}

/** Writes the latest discoveries of all Zoho connections to the folder. Returns whether the file changed. */
export const pullDiscovery = async ({client, path}: Session, directory: string): Promise<boolean> => {
  const {connectors} = await client.get(path('connectors'))
  const connections = []
  for (const {id, name, kind} of connectors.filter(({kind}: Json) => kind === 'zoho')) {
    const modules = await readModules(client, path('discovery/latest'), id)
    if (modules) connections.push({connectorId: id, name, kind, modules})
  }
  const text = formatJson({format: 1, connections})
  const at = join(directory, discoveryFile)
  const before = await readFile(at, 'utf8').catch(() => null)
  if (before === text || (before === null && connections.length === 0)) return false
  await writeFile(at, text)
  return true
}

const readModules = async (client: Session['client'], at: string, connector: string): Promise<Json[] | null> => {
  try {
    return (await client.get(at, {connector})).discovery.modules
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NO_DISCOVERY') return null
    throw error
  }
}
