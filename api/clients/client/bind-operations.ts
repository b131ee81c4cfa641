import {type Client, type Json, type Query, type RequestOptions, readPages} from '../http.ts'

/**
 * How an operation is called: method, path with its parameters in braces, the form of its answer, and the key of its items if it is a paged
 * list. A `raw` answer is a file or a stream.
 */
export type OperationRow = readonly [method: string, path: string, answer: 'json' | 'raw', list: string | null]

/** The types of an operation. `input` has the parameters of path and query, and `body`. */
export type OperationTypes = {input: object; answer: unknown; item?: unknown; errors: string}
type CallOptions = Pick<RequestOptions, 'headers' | 'signal' | 'timeoutMs'>

type Arguments<I extends object> = Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]

/** Each operation as a function, by its name. A call throws `ApiError` for a refusal, and `Unreachable` without an answer. */
export type Operations<T extends Record<keyof T, OperationTypes>> = {
  [name in keyof T]: (...args: Arguments<T[name]['input']>) => Promise<T[name]['answer']>
}

/** Each paged list as an iterator over the items of all pages. */
export type Lists<T extends Record<keyof T, OperationTypes>> = {
  [name in keyof T as T[name] extends {item: unknown} ? name : never]: (
    ...args: Arguments<Omit<T[name]['input'], 'cursor'>>
  ) => AsyncGenerator<T[name] extends {item: infer I} ? I : never>
}

type CallInput = Record<string, unknown> & {body?: unknown}

export const bindOperations = <T extends Record<keyof T, OperationTypes>>(
  client: Client,
  rows: Readonly<Record<keyof T & string, OperationRow>>,
): Operations<T> & {each: Lists<T>} => {
  const all = Object.entries<OperationRow>(rows)
  const calls = all.map(([name, row]) => [
    name,
    (input: CallInput = {}, options: CallOptions = {}) => callOperation(client, row, input, options),
  ])
  const lists = all.flatMap(([name, row]) =>
    row[3] === null ? [] : [[name, (input: CallInput = {}, options: CallOptions = {}) => listItems(client, row, input, options)]],
  )
  return {...Object.fromEntries(calls), each: Object.fromEntries(lists)}
}

const callOperation = async (
  client: Client,
  [method, path, answer]: OperationRow,
  input: CallInput,
  options: CallOptions,
): Promise<unknown> => {
  const {at, query} = addressOf(path, input)
  const request = {...options, query, ...('body' in input && {body: input.body})}
  return answer === 'raw' ? client.open(method, at, request) : (await client.call(method, at, request)).body
}

const listItems = (client: Client, [, path, , list]: OperationRow, input: CallInput, options: CallOptions): AsyncGenerator<Json> => {
  const {at, query} = addressOf(path, input)
  return readPages(client, at, list!, query, options)
}

/** Fills the parameters of the path. All other parameters become the query. */
const addressOf = (path: string, {body: _, ...given}: CallInput) => {
  const query = {...given} as Query
  const at = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = given[name]
    if (value === undefined || value === null || value === '') throw new TypeError(`${path} needs ${name}`)
    delete query[name]
    return encodeURIComponent(String(value))
  })
  return {at, query}
}
