import {inText} from '../../html.ts'
import {inLine} from './text.ts'

/** The parts of JSON Schema that the document uses. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  prefixItems?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/** Renders a schema as an expandable tree. Named schemas become links to their section below. */
export const treeOf = (schema: Schema): string => {
  const named = namedIn(schema)
  return (
    childrenOf(schema) || (named.length ? `<ul class="tree">${rowOf('', schema, false)}</ul>` : `<p class="alone">${kindOf(schema)}</p>`)
  )
}

export const kindOf = (schema: Schema): string => `<span class="type">${typeOf(schema)}</span>${boundsOf(schema)}`

/** Returns the names of all schemas to which a schema refers, anywhere within it. */
export const namesIn = (schema: unknown): string[] =>
  [...JSON.stringify(schema ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)

const childrenOf = (schema: Schema): string => {
  const {properties, required = [], additionalProperties} = schema
  const rest = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0 ? additionalProperties : null
  const rows = [
    ...Object.entries(properties ?? {}).map(([name, of]) => rowOf(`<code>${inText(name)}</code>`, of, required.includes(name))),
    ...(rest ? [rowOf('<i>any name</i>', rest, false)] : []),
  ]
  if (rows.length) return `<ul class="tree">${rows.join('')}</ul>`
  if (schema.items) return childrenOf(schema.items)
  const several = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []).filter(({type}) => type !== 'null')
  const [only] = several
  if (several.length === 1 && only) return childrenOf(only)
  if (!several.some(childrenOf)) return ''
  const parts = several.filter(one => childrenOf(one) || namedIn(one).length)
  return `<ul class="tree">${parts.map((one, at) => rowOf(formOf(one, at + 1), one, false)).join('')}</ul>`
}

/** Returns the label of one of several variants: the constant that distinguishes it, if there is one. */
const formOf = ({properties = {}}: Schema, at: number): string => {
  const [name, telling] = Object.entries(properties).find(([, one]) => one.const !== undefined) ?? []
  return name && telling ? `<i>where</i> <code>${inText(name)}</code> <i>is</i> ${code(telling.const)}` : `<i>form ${at}</i>`
}

/** Renders a property. The script expands a named schema in place; without scripts, the link leads to its section. */
const rowOf = (name: string, schema: Schema, isRequired: boolean): string => {
  const need = isRequired ? ' <span class="need">required</span>' : ''
  const head = `${name} <span class="type">${typeOf(schema)}</span>${need}${boundsOf(schema)}`.trim()
  const says = schema.description ? `<p>${inLine(schema.description)}</p>` : ''
  const inner = childrenOf(schema)
  if (inner) return `<li><details><summary>${head}</summary>${says}${inner}</details></li>`
  const named = namedIn(schema)
  if (named.length === 0) return `<li><div>${head}</div>${says}</li>`
  const links = named.map(one => `<p class="see"><a href="#schema-${inText(one)}">${inText(one)}</a></p>`)
  return `<li><details class="named"><summary>${head}</summary>${says}${links.join('')}</details></li>`
}

/** Returns the names of the schemas to which a schema refers: directly, as the items of a list, or as variants. */
const namedIn = ({$ref, items, anyOf, oneOf}: Schema): string[] => {
  if ($ref) return [nameOf($ref)]
  return [...(items ? [items] : []), ...(anyOf ?? []), ...(oneOf ?? [])].flatMap(namedIn)
}

const typeOf = (schema: Schema): string => {
  const {$ref, type, items, anyOf, oneOf, additionalProperties} = schema
  if ($ref) return inText(nameOf($ref))
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum) return schema.enum.map(code).join(' ')
  const several = anyOf ?? oneOf
  if (several) return [...new Set(several.map(typeOf))].join(' or ')
  if (Array.isArray(type)) return type.map(inText).join(' or ')
  if (type === 'array') return items ? `list of ${typeOf(items)}` : 'list'
  if (type === 'object' && !schema.properties && typeof additionalProperties === 'object')
    return `object of ${Object.keys(additionalProperties).length ? typeOf(additionalProperties) : 'anything'}`
  return type ? inText(FORMATS[schema.format ?? ''] ?? type) : 'anything'
}

const FORMATS: Record<string, string> = {'date-time': 'timestamp', date: 'date', uri: 'URL', uuid: 'UUID', email: 'e-mail address'}

const nameOf = (ref: string) => ref.split('/').at(-1)!

const code = (value: unknown) => `<code>${inText(JSON.stringify(value))}</code>`

const boundsOf = ({minimum, maximum, minLength, maxLength, minItems, maxItems, default: usual}: Schema): string => {
  const isTold = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
  const bounds = [
    ...(isTold(minimum) ? [`from ${minimum}`] : []),
    ...(isTold(maximum) ? [`to ${maximum!.toLocaleString('en')}`] : []),
    ...(minLength ? [minLength === 1 ? 'not empty' : `at least ${minLength} characters`] : []),
    ...(maxLength ? [`at most ${maxLength.toLocaleString('en')} characters`] : []),
    ...(minItems ? [`at least ${minItems}`] : []),
    ...(maxItems ? [`at most ${maxItems.toLocaleString('en')}`] : []),
    ...(usual === undefined ? [] : [`default ${inText(JSON.stringify(usual))}`]),
  ]
  return bounds.length ? ` <span class="bounds">${bounds.join(', ')}</span>` : ''
}
