import {mkdirSync, rmSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {API, type Checker, SymbolFlags, type Type, TypeFlags} from 'typescript/unstable/sync'

export type Schema = Record<string, any>

const here = fileURLToPath(new URL('.', import.meta.url))
const project = `${here}tsconfig.generated.json`
const options = {
  compilerOptions: {strict: true, noEmit: true, module: 'nodenext', target: 'es2024', types: [], allowImportingTsExtensions: true},
  files: ['roots.ts'],
}

/**
 * Generates JSON schemas from the provider's types, by file name: `requests/…` without further keys, `objects/…` with references to each
 * other.
 */
export const generateSchemas = (): Map<string, string> => {
  const api = new API({cwd: here, fs: {readFile: path => (path === project ? JSON.stringify(options) : undefined)}})
  try {
    const {program, checker} = api.updateSnapshot({openProject: project}).getProjects()[0]!
    const tree = program.getSourceFile(`${here}roots.ts`)!
    const members = (name: string) => {
      const symbol = checker.resolveName(name, SymbolFlags.Type, tree)
      if (!symbol) throw new TypeError(`roots.ts has no ${name}`)
      const roots = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
      return roots.map(one => [one.name, checker.getTypeOfSymbol(one)!] as const)
    }
    const objects = members('Objects')
    const named = new Map(objects.map(([name, type]) => [type.id, name]))
    const files = new Map<string, string>()
    for (const [name, type] of members('Requests')) files.set(`requests/${name}.json`, write(name, describe(checker, new Map(), type, [])))
    for (const [name, type] of objects) files.set(`objects/${name}.json`, write(name, describe(checker, named, type, [])))
    return files
  } finally {
    api.close()
  }
}

const write = (name: string, schema: Schema) => `${JSON.stringify({$id: name, ...schema})}\n`

const absent = TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never
const is = (type: Type, flags: number) => (type.flags & flags) !== 0

/** Describes a type. `above`: the enclosing types; a recursive type is not described again. */
const describe = (checker: Checker, named: Map<number, string>, type: Type, above: number[]): Schema => {
  if (is(type, TypeFlags.Null)) return {type: 'null'}
  if (is(type, TypeFlags.Any | TypeFlags.Unknown)) return {}
  if (is(type, TypeFlags.BooleanLike) && !type.isUnionType()) return type.isLiteralType() ? {const: type.value} : {type: 'boolean'}
  if (type.isLiteralType()) return {enum: [type.value]}
  // The type `(string & {})` in a union allows values of later API versions. This version does not have them.
  if (type.isIntersectionType()) return {type: 'string', 'x-open': true}
  if (is(type, TypeFlags.StringLike)) return {type: 'string'}
  if (is(type, TypeFlags.NumberLike)) return {type: 'number'}
  if (type.isUnionType()) return describeUnion(checker, named, type.getTypes(), above)
  if (type.getSymbol()?.name === 'Decimal') return {type: 'string'}
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as never)
    return {type: 'array', items: describe(checker, named, element!, above)}
  }
  const name = above.length === 0 ? undefined : named.get(type.id)
  if (name !== undefined) return {$ref: name}
  if (above.includes(type.id)) return {type: 'object'}
  return describeObject(checker, named, type, above)
}

const describeObject = (checker: Checker, named: Map<number, string>, type: Type, above: number[]): Schema => {
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  const symbols = checker.getPropertiesOfType(type).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const types = checker.getTypeOfSymbol(symbols)
  const object = types[symbols.findIndex(symbol => symbol.name === 'object')]
  if (above.length > 0 && named.size > 0 && isForeign(object)) return {type: 'object', 'x-foreign': true}
  for (const [place, symbol] of symbols.entries()) {
    const own = types[place]
    if (!own || own.isErrorType()) throw new TypeError(`No type: ${symbol.name}`)
    const parts = own.isUnionType() ? own.getTypes().filter(part => !is(part, absent)) : [own].filter(part => !is(part, absent))
    if (parts.length === 0) continue
    properties[symbol.name] = describeUnion(checker, named, parts, [...above, type.id])
    if ((symbol.flags & SymbolFlags.Optional) === 0) required.push(symbol.name)
  }
  const [index] = checker.getIndexInfosOfType(type)
  if (named.size > 0 && !index && Object.keys(properties).length === 0) return {type: 'object'}
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 ? {properties} : {}),
    ...(required.length > 0 ? {required} : {}),
    additionalProperties: index ? describe(checker, named, index.valueType, [...above, type.id]) : false,
  }
}

/** Whether the type is an object of the provider that is not in `roots.ts`. In a union with an id, only the id is kept. */
const isForeign = (object: Type | undefined) => object?.isStringLiteralType() === true && object.value !== 'list'

const describeUnion = (checker: Checker, named: Map<number, string>, types: readonly Type[], above: number[]): Schema => {
  const parts = types.filter(type => !is(type, absent)).map(type => describe(checker, named, type, above))
  const values = parts.filter(part => part.enum).flatMap(part => part.enum)
  const constants = parts.filter(part => 'const' in part).map(part => part.const)
  const open = parts.filter(part => !part.enum && !('const' in part))
  const hasId = open.some(part => part.type === 'string')
  const left = [
    ...(values.length > 0 ? [{enum: values.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))}] : []),
    ...(constants.length === 2 ? [{type: 'boolean'}] : constants.map(value => ({const: value}))),
    ...open.filter(part => !(hasId && part['x-foreign']) && !(values.length > 0 && part['x-open'])),
  ].map(({'x-foreign': _, 'x-open': __, ...part}: Schema) => part)
  const unique = [...new Map(left.map(part => [JSON.stringify(part), part])).values()]
  return unique.length === 1 ? unique[0]! : {anyOf: unique.toSorted(byText)}
}

const byText = (a: Schema, b: Schema) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

/** Writes the files anew: `node test/simulators/payment/schemas/generate.ts`. Necessary after another version of `stripe` is pinned. */
if (import.meta.main) {
  for (const folder of ['requests', 'objects']) {
    rmSync(`${here}${folder}`, {recursive: true, force: true})
    mkdirSync(`${here}${folder}`)
  }
  for (const [name, text] of generateSchemas()) writeFileSync(`${here}${name}`, text)
}
