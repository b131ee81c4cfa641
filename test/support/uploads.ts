import {createHash} from 'node:crypto'
import type {Call, HttpAnswer} from './client.ts'
import {ok} from './importing.ts'

export const MiB = 1024 ** 2

export const rowsOf = (bytes: number) => {
  const lines = ['name,number,city']
  for (let length = 0, n = 1; length < bytes; n++) {
    const line = `Company ${n},A-${n},${'Town '.repeat(12)}`
    length += line.length + 1
    lines.push(line)
  }
  return Buffer.from(`${lines.join('\n')}\n`)
}

export const digestOf = (bytes: Buffer) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`

/** Begins an upload to the import at `path`. Returns the calls that a client then makes. */
export const openUpload = async (call: Call, path: string, {bytes, ...given}: {bytes: Buffer; name?: string; [key: string]: unknown}) => {
  const {upload} = await ok(call('POST', `${path}/uploads`, {name: 'test.csv', size: bytes.length, ...given}), 201)
  const at = `${path}/uploads/${upload.id}`
  const put = (offset: number, body: Buffer | string, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    call('PUT', `${at}/parts/${offset}`, body, {'content-type': 'application/octet-stream', ...headers})
  const send = (offset: number, length = MiB) => put(offset, bytes.subarray(offset, offset + length))
  const read = async () => (await ok(call('GET', at), 200)).upload
  const sendRest = async () => {
    for (let {offset} = await read(); offset < bytes.length; ) ({offset} = (await ok(send(offset), 200)).upload)
  }
  return {upload, at, put, send, read, sendRest, finish: () => call('POST', `${at}/finish`)}
}
