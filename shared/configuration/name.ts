import {listConnectors} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {type LightModule, listNewestModules} from '../../sql/discovered.ts'
import {Refusal} from '../errors.ts'
import type {Registry, RegistryModule} from './document.ts'

/** A module of a connection: configured by a user, read by the newest discovery, or both. */
export type KnownModule = {
  connectorId: string
  apiName: string
  curated: RegistryModule | null
  discovered: LightModule['module'] | null
}

type Connections = Awaited<ReturnType<typeof listConnectors>>
/** All known modules, the configured ones first, in their order. */
export type AllModules = {modules: KnownModule[]; connections: Connections}

export const findModules = async (db: Db, org: string, registry: Registry): Promise<AllModules> => {
  const connections = await listConnectors(db, org)
  const discovered = await listNewestModules(db, org)
  const known = registry.modules.map(curated => ({
    connectorId: curated.connectorId,
    apiName: curated.apiName,
    curated,
    discovered: discovered.find(one => one.connectorId === curated.connectorId && one.module.apiName === curated.apiName)?.module ?? null,
  }))
  const curated = new Set(known.map(({connectorId, apiName}) => `${connectorId} ${apiName}`))
  const rest = discovered.filter(({connectorId, module}) => !curated.has(`${connectorId} ${module.apiName}`))
  const others = rest.map(({connectorId, module}) => ({connectorId, apiName: module.apiName, curated: null, discovered: module}))
  return {modules: [...known, ...others], connections}
}

type ModuleName = {name: string; connector?: string | undefined}

/**
 * Chooses a module by its key, or else by its API name. If several connections have the API name, the caller must name the connection, unless only
 * one of them is connected.
 */
export const chooseModule = ({modules, connections}: AllModules, {name, connector}: ModuleName): KnownModule => {
  if (connector !== undefined) assertOwn(connections, connector)
  const candidates = modules.filter(({connectorId}) => connector === undefined || connectorId === connector)
  const byKey = candidates.find(({curated}) => curated?.key === name)
  if (byKey) return byKey
  const byName = candidates.filter(({apiName}) => apiName === name)
  if (byName.length === 0)
    throw new Refusal(
      'MODULE_NOT_FOUND',
      `No module is called ${name}. GET …/config/modules lists the modules, and a discovery finds new ones`,
    )
  const having = connections.filter(({id}) => byName.some(({connectorId}) => connectorId === id))
  const connected = having.filter(({state}) => state === 'connected')
  const [only] = having.length === 1 ? having : connected.length === 1 ? connected : []
  if (!only)
    throw new Refusal('CONNECTION_REQUIRED', `Several connections have a module ${name}. Name the connection with ?connector=`, {
      connections: having.map(({id, name, state}) => ({id, name, state})),
    })
  return byName.find(({connectorId}) => connectorId === only.id)!
}

export const assertOwn = (connections: Connections, id: string) => {
  if (!connections.some(connection => connection.id === id)) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
}

/**
 * Makes an unused key from the API name: `Order_Lines` becomes `order_lines`, and for a second connection `order_lines_2`. `others`: the API names of
 * all other modules. The key equals none of them, because `chooseModule` reads a name as a key first and would no longer find that other module.
 */
export const newKey = ({modules}: Registry, apiName: string, others: readonly string[]): string => {
  const plain = apiName
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '_')
    .slice(0, 90)
  const base = /^[a-z]/.test(plain) ? plain : `m_${plain}`
  const taken = new Set([...modules.map(({key}) => key.toLowerCase()), ...others])
  for (let n = 1; ; n++) {
    const key = n === 1 ? base : `${base}_${n}`
    if (!taken.has(key)) return key
  }
}
