/** The parts of a JSON schema that its TypeScript type depends on. */
export type TypedSchema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, TypedSchema>
  required?: string[]
  items?: TypedSchema | boolean
  prefixItems?: TypedSchema[]
  additionalProperties?: TypedSchema | boolean
  anyOf?: TypedSchema[]
  oneOf?: TypedSchema[]
  allOf?: TypedSchema[]
  description?: string
  contentEncoding?: string
  format?: string
}

/** Returns the TypeScript type of a schema. A `$ref` becomes the type name of the schema to which it points. */
export const typeText = (schema: TypedSchema | boolean | undefined): string => {
  if (schema === undefined || typeof schema === 'boolean') return 'unknown'
  if (schema.$ref !== undefined) return nameText(schema.$ref.split('/').at(-1)!)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return union(schema.enum.map(value => JSON.stringify(value)))
  if (schema.anyOf ?? schema.oneOf) return union((schema.anyOf ?? schema.oneOf)!.map(typeText))
  if (schema.allOf) return schema.allOf.map(one => `(${typeText(one)})`).join(' & ')
  return union([schema.type ?? (schema.properties ? 'object' : 'any')].flat().map(type => textOfType(type, schema)))
}

/** Converts the name of a schema to an identifier. */
export const nameText = (name: string): string =>
  name
    .split(/\W/)
    .map((part, at) => (at > 0 ? part.charAt(0).toUpperCase() + part.slice(1) : part))
    .join('')

const union = (texts: string[]): string => [...new Set(texts)].join(' | ') || 'never'

const textOfType = (type: string, schema: TypedSchema): string => {
  if (type === 'object') return objectText(schema)
  if (type === 'array') return arrayText(schema)
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' || type === 'boolean' || type === 'null' ? type : 'unknown'
}

const arrayText = ({items, prefixItems}: TypedSchema): string =>
  prefixItems ? `[${prefixItems.map(typeText).join(', ')}]` : `(${typeText(items)})[]`

const objectText = ({properties = {}, required = [], additionalProperties}: TypedSchema): string => {
  const fields = Object.entries(properties).map(([name, schema]) => fieldText(name, schema, required.includes(name)))
  if (fields.length > 0) return `{${fields.join('; ')}}`
  return typeof additionalProperties === 'object' ? `Record<string, ${typeText(additionalProperties)}>` : 'Record<string, unknown>'
}

export const fieldText = (name: string, schema: TypedSchema, isRequired: boolean): string =>
  `${commentText(schema.description)}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${isRequired ? '' : '?'}: ${typeText(schema)}`

export const commentText = (text: string | undefined): string =>
  text ? `/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */ ` : ''
