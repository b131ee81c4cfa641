import type {DiscoveredField, DiscoveredModule} from '../../shared/crm/discovered.ts'

/** Returns a discovered field with defaults, changed by `more`. */
export const field = (apiName: string, more: Partial<DiscoveredField> = {}): DiscoveredField => ({
  apiName,
  label: apiName,
  type: 'text',
  jsonType: 'string',
  length: 100,
  decimalPlaces: null,
  required: false,
  layoutRequired: false,
  unique: null,
  creatable: true,
  updatable: true,
  readOnly: false,
  visible: true,
  picklist: [],
  lookup: null,
  subform: null,
  ...more,
})

export const module = (apiName: string, fields: DiscoveredField[], more: Partial<DiscoveredModule> = {}): DiscoveredModule => ({
  apiName,
  label: `${apiName}s`,
  singular: apiName,
  id: '1',
  kind: 'custom',
  creatable: true,
  editable: true,
  visible: true,
  subformOf: null,
  namingField: 'Name',
  fields,
  ...more,
})
