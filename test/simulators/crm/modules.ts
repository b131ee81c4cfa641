import {createField, type Field, isRowsField, systemFields} from './fields.ts'
import {metaId, type Org} from './org.ts'
import type {FieldSpec, ModuleSpec} from './schema.ts'
import {addUnique, createStore, type Store} from './store.ts'

export type Module = {
  id: string
  spec: ModuleSpec
  name: string
  position: number
  fields: Map<string, Field>
  store: Store
  mandatory: Field[]
  uniques: Field[]
  numbered: Field[]
  defaulted: Field[]
  rows: Field[]
  naming: Field | null
}

/** Adds a module and the modules of its subforms. Replaces a module of the same name and removes its records. */
export const addModule = (org: Org, spec: ModuleSpec): Module => {
  const module: Module = {
    id: metaId(org),
    spec: {...spec, fields: []},
    name: spec.name,
    position: org.modules.size + 1,
    fields: new Map(),
    store: createStore(),
    mandatory: [],
    uniques: [],
    numbered: [],
    defaulted: [],
    rows: [],
    naming: null,
  }
  org.modules.set(spec.name, module)
  for (const field of [...spec.fields, ...systemFields]) addField(org, module, field)
  module.naming = module.fields.get(namingFieldOf(spec)) ?? null
  return module
}

/** Renames a module, which keeps its id and records. Lookups and subforms name its new name. */
export const renameModule = (org: Org, module: Module, name: string) => {
  const before = module.name
  org.modules.delete(before)
  module.name = name
  module.spec = {...module.spec, name}
  org.modules.set(name, module)
  for (const other of org.modules.values()) {
    if (other.spec.parent === before) other.spec = {...other.spec, parent: name}
    for (const field of other.fields.values()) if (field.spec.lookup === before) field.spec = {...field.spec, lookup: name}
  }
}

/** Adds a field, or changes one and keeps its id. A field that becomes unique keeps its existing duplicates. */
export const addField = (org: Org, module: Module, spec: FieldSpec): Field => {
  const known = module.fields.get(spec.name)
  const field = {...createField(org, spec), ...(known ? {id: known.id, next: known.next} : {})}
  module.fields.set(spec.name, field)
  module.spec.fields = [...module.spec.fields.filter(other => other.name !== spec.name), spec]
  if (module.naming?.name === spec.name) module.naming = field
  if (spec.type === 'subform' && spec.subform) addRowsModule(org, module, 'subform', spec.subform.module, spec.subform.columns)
  if (spec.type === 'multiselectlookup' && spec.links) {
    const {module: name, to, field: by} = spec.links
    addRowsModule(org, module, 'linking', name, [{name: by, type: 'lookup', lookup: to, mandatory: true}])
  }
  if (spec.unique) addUnique(module.store, spec.name, {fold: spec.unique !== 'case-sensitive'})
  else module.store.uniques.delete(spec.name)
  sortFields(module)
  return field
}

export const dropField = (module: Module, name: string) => {
  module.fields.delete(name)
  module.spec.fields = module.spec.fields.filter(field => field.name !== name)
  module.store.uniques.delete(name)
  module.store.lazies.delete(name)
  sortFields(module)
}

export const rowsModule = (org: Org, field: Field): Module => {
  const name = field.spec.subform?.module ?? field.spec.links?.module
  const module = name === undefined ? undefined : org.modules.get(name)
  if (!module) throw new Error(`Field ${field.name} names no module for its rows`)
  return module
}

export const isSubform = (module: Module) => module.spec.kind === 'subform' || module.spec.kind === 'linking'

const addRowsModule = (org: Org, parent: Module, kind: 'subform' | 'linking', name: string, columns: FieldSpec[]) => {
  if (org.modules.has(name)) return
  const parentField: FieldSpec = {name: 'Parent_Id', type: 'lookup', lookup: parent.name, label: 'Parent ID', readOnly: true}
  addModule(org, {name, kind, parent: parent.name, creatable: false, editable: false, deletable: false, fields: [parentField, ...columns]})
}

const sortFields = (module: Module) => {
  const fields = [...module.fields.values()]
  module.mandatory = fields.filter(field => field.spec.mandatory)
  module.uniques = fields.filter(field => field.spec.unique)
  module.numbered = fields.filter(field => field.type === 'autonumber')
  module.defaulted = fields.filter(field => field.spec.default !== undefined)
  module.rows = fields.filter(isRowsField)
}

const namingFieldOf = (spec: ModuleSpec) => spec.namingField ?? (spec.kind === 'subform' || spec.kind === 'linking' ? '' : 'Name')
