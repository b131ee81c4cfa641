import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'

/** A module of the latest discovery, with its configuration. */
export type ConfiguredModule = {
  key: string | null
  apiName: string
  connectorId: string
  order: number | null
  enabled: boolean
  singular: string | null
  uniqueFields: string[]
  match: {by: string[]; onOne?: string; onMany?: string} | null
  exclusions: string[]
  onEdited?: 'overwrite' | 'keep' | 'ask' | null
  label: string | null
  kind: string | null
  removed: boolean
}

export type Annotation = {
  apiName: string
  description?: string
  format?: string
  examples?: string[]
  aliases?: string[]
  pii?: boolean
  derived?: boolean
  excluded?: boolean
  defaultMapping?: Json
}

export type ConfiguredField = {
  apiName: string
  label?: string
  type?: string
  required?: boolean
  unique?: Json
  readOnly?: boolean
  annotation: Annotation | null
  removed: boolean
}

/** Returns the header that makes a write conditional on the version read, so that concurrent changes are not overwritten. */
export const ifVersion = (registryVersion: number) => ({'if-match': `"${registryVersion}"`})

const moduleAddress = ({apiName, connectorId}: Pick<ConfiguredModule, 'apiName' | 'connectorId'>, path: string) =>
  `${inOrg(`/config/modules/${encodeURIComponent(apiName)}`)}${path}?connector=${encodeURIComponent(connectorId)}`

export const patchModule = (module: ConfiguredModule, version: number, changed: object): Promise<Json> =>
  client.patch(moduleAddress(module, ''), changed, ifVersion(version))

export const patchField = (module: ConfiguredModule, version: number, {apiName, changed}: {apiName: string; changed: object}) =>
  client.patch<Json>(
    `${inOrg(`/config/fields/${encodeURIComponent(module.apiName)}/${encodeURIComponent(apiName)}`)}?connector=${encodeURIComponent(module.connectorId)}`,
    changed,
    ifVersion(version),
  )

/** Splits a text into trimmed, distinct, non-empty lines. */
export const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean),
  ),
]

/** Returns the changed values of an annotation. Null removes a value; unchanged values are omitted. */
export const annotationChange = (before: Annotation | null, after: Omit<Annotation, 'apiName'>): Record<string, unknown> => {
  const changed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(after)) {
    const was = (before as Record<string, unknown> | null)?.[name]
    const isGone = value === '' || value === false || value === undefined || (Array.isArray(value) && value.length === 0)
    if (isGone && was !== undefined) changed[name] = null
    if (!isGone && JSON.stringify(value) !== JSON.stringify(was)) changed[name] = value
  }
  return changed
}
