import type {LocatedOperation} from './operation.ts'

/** Returns the example request as a curl command. A path parameter without an example becomes a shell variable. */
export const curlOf = ({method, path, operation}: LocatedOperation, server: string): string => {
  const {parameters = [], requestBody, security} = operation
  const exampleOf = (place: string, name: string) => parameters.find(one => one.in === place && one.name === name)?.example
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const given = exampleOf('path', name)
    return given === undefined
      ? `$${name.replaceAll(/[A-Z]/g, (letter: string) => `_${letter}`).toUpperCase()}`
      : encodeURIComponent(String(given))
  })
  const query = new URLSearchParams(
    parameters.flatMap(({in: place, name, example}) =>
      place === 'query' && example !== undefined ? [[name, String(example)] as [string, string]] : [],
    ),
  )
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const lines = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${server}${address}${query.size ? `?${query}` : ''}"`,
    ...(security.length ? [`-H "Authorization: Bearer $${'adminToken' in security[0]! ? 'ADMIN_TOKEN' : 'LADING_TOKEN'}"`] : []),
    ...(type ? [`-H "Content-Type: ${type}"`, dataOf(type, media?.example)] : []),
  ]
  return lines.join(' \\\n  ')
}

const dataOf = (type: string, example: unknown): string => {
  if (example === undefined) return type.includes('json') ? "-d '{}'" : '--data-binary @FILE'
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return `-d '${text.replaceAll("'", `'\\''`)}'`
}
