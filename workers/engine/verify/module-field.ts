import type {CompiledFlow} from '../model.ts'

type CompiledModule = CompiledFlow['module']
type ModuleField = CompiledModule['fields'][number]

const fieldsOf = new WeakMap<CompiledModule, Map<string, ModuleField>>()

/** Finds a field of a module by name. The names are indexed once, because each value that is read back needs its field. */
export const findModuleField = (module: CompiledModule, name: string): ModuleField | undefined => {
  let fields = fieldsOf.get(module)
  if (!fields) {
    fields = new Map(module.fields.map(field => [field.apiName, field]))
    fieldsOf.set(module, fields)
  }
  return fields.get(name)
}
