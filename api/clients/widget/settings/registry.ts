import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/settings.ts'

/** A module that a discovery found, with its configuration. */
export type ConfiguredModule = {
  key: string | null
  apiName: string
  connectorId: string
  order: number | null
  /** Null: not decided, so imports may write the module. */
  enabled: boolean | null
  singular: string | null
  uniqueFields: string[]
  idempotencyField: string | null
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
  length?: number | null
  creatable?: boolean
  readOnly?: boolean
  annotation: Annotation | null
  removed: boolean
}

/**
 * Returns the options for the module's idempotency field. A chosen field that no longer fits stays an option. The server checks the choice
 * again.
 */
export const idempotencyOptions = (fields: ConfiguredField[], chosen: string | null) => {
  const fit = fields.filter(
    ({type, unique, length, creatable, readOnly, removed}) =>
      type === 'text' && unique && (length ?? 26) >= 26 && creatable && !readOnly && !removed,
  )
  const isGone = chosen !== null && !fit.some(({apiName}) => apiName === chosen)
  return [
    {value: '', label: t.none},
    ...fit.map(({apiName, label}) => ({value: apiName, label: label ?? apiName})),
    ...(isGone ? [{value: chosen, label: t.noLongerSuitable(chosen)}] : []),
  ]
}

/** Whether a write failed because the configuration changed after the page loaded it. */
export const isStale = (error: Json): boolean => error?.code === 'REGISTRY_CONFLICT'

/** Returns the header that makes a write fail if the configuration has another version, so that concurrent changes are not overwritten. */
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
