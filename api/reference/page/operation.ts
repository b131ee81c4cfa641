import type {codes} from '../../../shared/errors.ts'
import {inText} from '../../html.ts'
import {meanings} from '../codes.ts'
import {curlOf} from './curl.ts'
import {showRequestForm} from './request-form.ts'
import {kindOf, type Schema, treeOf} from './schema.ts'
import {inLine, markdown} from './text.ts'

type Media = {schema?: Schema; example?: unknown}
type Parameter = {in: string; name: string; required?: boolean; description?: string; schema?: Schema; example?: unknown}
export type Response = {description: string; content?: Record<string, Media>}

/** An operation of the document. Each `$ref` to a response is replaced by that response. */
export type ApiOperation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: {description?: string; required?: boolean; content: Record<string, Media>}
  responses: Record<string, Response>
}
export type LocatedOperation = {method: string; path: string; operation: ApiOperation}

export const showOperation = (placed: LocatedOperation, server: string): string => {
  const {method, path, operation} = placed
  const {operationId: id, summary, description = ''} = operation
  return `<section class="operation" id="${inText(id)}" aria-labelledby="${inText(id)}-title">
<h2 id="${inText(id)}-title">${inText(summary)} <a class="link" href="#${inText(id)}" aria-label="Link to ${inText(id)}">#</a></h2>
<p class="address"><b class="method ${method}">${method.toUpperCase()}</b> <code>${inText(path)}</code> <span class="id">${inText(id)}</span></p>
${markdown(description)}
${showExample(placed, server)}
${showRequestForm(placed)}
${showParameters(operation.parameters ?? [])}
${showBody(operation.requestBody)}
${showAnswers(operation)}
${showRefusals(operation)}
</section>`
}

const PLACES: Record<string, string> = {path: '· in the path', query: '· in the query', header: '· in a header'}

const showParameters = (parameters: Parameter[]): string => {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({in: place, name, required, description, schema = {}}) => {
    const {description: _, ...bare} = schema
    const need = required ? ' <span class="need">required</span>' : ''
    const says = description ? `<p>${inLine(description)}</p>` : ''
    return `<li><div><code>${inText(name)}</code> ${kindOf(bare)} <span class="place">${PLACES[place]}</span>${need}</div>${says}</li>`
  })
  return `<h3>Parameters</h3><ul class="tree parameters">${rows.join('')}</ul>`
}

const showBody = (body: ApiOperation['requestBody']): string => {
  if (!body) return ''
  const says = body.description ? `<p>${inLine(body.description)}</p>` : ''
  const media = Object.entries(body.content).map(([type, {schema}]) => {
    return `<p class="media"><code>${inText(type)}</code>${body.required ? ' <span class="need">required</span>' : ''}</p>${schema ? treeOf(schema) : ''}`
  })
  return `<h3>Body</h3>${says}${media.join('')}`
}

const showAnswers = ({responses}: ApiOperation): string => {
  const own = Object.entries(responses).filter(([status, response]) => Number(status) < 400 || !isRefusal(response))
  const rows = own.map(([status, {description, content = {}}], at) => {
    const media = Object.entries(content).map(([type, {schema}]) => {
      return `<p class="media"><code>${inText(type)}</code></p>${schema && type === 'application/json' ? treeOf(schema) : ''}`
    })
    const [says = ''] = description.split('\n\n- `')
    return `<details${at === 0 ? ' open' : ''}><summary><b>${status}</b> ${inLine(says)}</summary>${media.join('')}</details>`
  })
  return rows.length ? `<h3>Responses</h3>${rows.join('')}` : ''
}

/** Whether the response is only the error envelope. */
const isRefusal = ({content}: Response) => {
  const media = Object.entries(content ?? {})
  return media.length === 1 && media[0]![1].schema?.$ref?.endsWith('/Refusal') === true
}

const showRefusals = ({responses}: ApiOperation): string => {
  const rows = Object.entries(responses).flatMap(([status, {content}]) =>
    codesIn(content?.['application/json']?.schema).map(
      code => `<tr><td>${status}</td><td><code>${code}</code></td><td>${inLine(meanings[code])}</td></tr>`,
    ),
  )
  if (rows.length === 0) return ''
  return `<details class="refusals"><summary><b>Errors</b> ${rows.length} codes</summary>
<div class="wide" tabindex="0" role="group" aria-label="Errors"><table><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning and what to do</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div></details>`
}

const codesIn = (schema: Schema | undefined): (typeof codes)[number][] => {
  const envelope = [schema, ...(schema?.anyOf ?? [])].find(one => one?.$ref?.endsWith('/Refusal'))
  return (envelope?.properties?.code?.enum ?? []) as (typeof codes)[number][]
}

const showExample = (placed: LocatedOperation, server: string): string => {
  const {operation} = placed
  const answers = Object.values(operation.responses).flatMap(({content}) => content?.['application/json']?.example ?? [])
  const answer =
    answers[0] === undefined ? '' : `<p class="media">Response</p>${copied(JSON.stringify(answers[0], null, 2), 'the response')}`
  return `<h3>Example</h3>${copied(curlOf(placed, server), 'the curl command')}${answer}`
}

export const copied = (text: string, what: string): string =>
  `<div class="copied"><pre tabindex="0" role="group" aria-label="${inText(what)}"><code>${inText(text)}</code></pre><button type="button" class="copy" hidden aria-label="Copy ${inText(what)}">Copy</button></div>`
