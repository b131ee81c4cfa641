/** An answer of the model: text, a requested value, or tool calls. `usage` replaces the token count of the stand-in. */
export type Answer = {text?: string; json?: unknown; calls?: {name: string; input: unknown}[]; usage?: Tokens | null; isCut?: boolean}
export type Tokens = {input: number; output: number}

/** A request in terms common to both wire formats. `schema`: the schema of the requested value; null if none is requested. */
export type Question = {
  wire: 'openai' | 'anthropic'
  model: string
  stream: boolean
  system: string
  messages: {role: string; text: string}[]
  tools: {name: string; schema: Schema}[]
  schema: Schema | null
  maxTokens: number | null
}

export type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  minItems?: number
}

/** Computes the answer to a request. */
export type Script = (question: Question) => Answer

export const plainAnswer: Script = ({schema}) => (schema ? {json: leastOf(schema)} : {text: 'The stand-in has nothing to say.'})

export const leastOf = (schema: Schema): unknown => {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return leastOf(schema.anyOf.find(({type}) => type === 'null') ?? schema.anyOf[0]!)
  const type = Array.isArray(schema.type) ? (schema.type.includes('null') ? 'null' : schema.type[0]) : schema.type
  if (type === 'object')
    return Object.fromEntries((schema.required ?? []).map(name => [name, leastOf(schema.properties?.[name] ?? {type: 'null'})]))
  if (type === 'array') return Array.from({length: schema.minItems ?? 0}, () => leastOf(schema.items ?? {type: 'null'}))
  if (type === 'string') return ''
  if (type === 'number' || type === 'integer') return 0
  return type === 'boolean' ? false : null
}

/** Splits the text into pieces, as a model streams it. */
export const pieces = (text: string): string[] => text.match(/\s*\S{1,12}/g) ?? []

export const countOf = (text: string) => Math.ceil(text.length / 4)
