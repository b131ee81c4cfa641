import type {DrawnRequest} from './requests.ts'

/**
 * Returns the request as a curl command with long values cut. A shell variable that is named after the bearer, such as `$OWNER`, holds its
 * token.
 */
export const curlOf = ({method, path, bearer, headers, body, chunked, cut}: DrawnRequest): string => {
  const given = {
    ...(bearer !== 'none' && {authorization: `Bearer $${bearer.toUpperCase()}`}),
    ...headers,
    ...(chunked && {'transfer-encoding': 'chunked'}),
  }
  const all = Object.entries(given).map(([name, value]) => `-H "${name}: ${cutAt(value, 200)}"`)
  const sent = body && `--data-binary $'${cutAt(escaped(body), 2000)}'`
  const parts = [
    `curl -i --path-as-is -X ${method}`,
    ...all,
    sent,
    `"$API${cutAt(path, 1000)}"`,
    cut !== null && `# cut after ${cut} bytes of the body`,
  ]
  return parts.filter(Boolean).join(' ')
}

const cutAt = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}… (${text.length} characters)` : text)

const escaped = (body: Buffer) => body.toString().replaceAll(/[\\'\n\r\0]/g, one => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
