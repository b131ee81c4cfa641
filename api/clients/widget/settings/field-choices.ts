import {t} from '../text/settings.ts'
import type {ConfiguredField} from './registry.ts'

export type FieldChoice = {apiName: string; label: string}

/** Returns the fields that can still be chosen, sorted by label. A label that several fields share is followed by the API name. */
export const fieldChoices = (fields: ConfiguredField[], chosen: readonly string[]): FieldChoice[] =>
  fields
    .filter(({apiName, removed}) => !removed && !chosen.includes(apiName))
    .map(({apiName}) => ({apiName, label: labelOfField(fields, apiName)}))
    .toSorted((a, b) => a.label.localeCompare(b.label))

/** Returns the label of a field. A field that the CRM no longer has is marked as such. */
export const labelOfField = (fields: ConfiguredField[], apiName: string): string => {
  const field = fields.find(one => one.apiName === apiName)
  if (!field || field.removed) return t.noLongerInTheCrm(field?.label ?? apiName)
  const label = field.label ?? apiName
  const isShared = fields.some(one => one.apiName !== apiName && !one.removed && one.label === label)
  return isShared ? `${label} (${apiName})` : label
}
