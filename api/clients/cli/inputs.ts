import {createHash} from 'node:crypto'
import {createReadStream, createWriteStream, rmSync} from 'node:fs'
import {mkdtemp, readFile, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {basename, join, resolve} from 'node:path'
import {pipeline} from 'node:stream/promises'
import type {Json} from '../http.ts'
import {badFile, usage} from './failure.ts'
import {plural} from './words.ts'

/**
 * A file to be imported, as it was when the command began. `slot`: of the template, or the name flows call it by. `modifiedMs` is the inode's
 * time, which no program sets back. `digest`: of the standard input, which lies at another place each time.
 */
export type LocalFile = {path: string; name: string; slot: string | null; bytes: number; modifiedMs: number; digest?: string}

/** `FILE`, `SLOT=FILE`, and `-` for the standard input. A file whose own name has a `=` in it is meant when it is there. */
export const readInputs = (given: readonly string[], stdin: Readable_ = process.stdin): Promise<LocalFile[]> => {
  if (given.filter(one => one === '-' || one.endsWith('=-')).length > 1) throw usage('The standard input can be one file only')
  return Promise.all(given.map(one => readInput(one, stdin)))
}

type Readable_ = NodeJS.ReadableStream

const readInput = async (given: string, stdin: Readable_): Promise<LocalFile> => {
  const [, slot, rest] = /^([A-Za-z0-9_-]{1,64})=(.+)$/s.exec(given) ?? []
  const isWhole = slot === undefined || (await stat(given).catch(() => null)) !== null
  const path = isWhole ? given : rest!
  if (path === '-') {
    const spooled = await spool(stdin)
    return {...(await describe(spooled.path, 'The standard input')), digest: spooled.digest, slot: isWhole ? null : slot!}
  }
  return {...(await describe(path)), slot: isWhole ? null : slot!}
}

const describe = async (path: string, said = path) => {
  const found = await stat(path).catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw badFile(`There is no file ${path}`, 'Check its path; relative ones begin where the command is run')
    if (error.code === 'EACCES') throw badFile(`${path} may not be read by this user`, 'Change its rights, or run as its owner')
    throw error
  })
  if (!found.isFile()) throw badFile(`${path} is no file`, found.isDirectory() ? 'Name the files in it one by one' : undefined)
  if (found.size === 0) throw badFile(`${said} is empty`, 'It needs a line with the names of the columns, and rows under it')
  return {path: resolve(path), name: basename(path).replaceAll(/\p{Cc}/gu, ' '), bytes: found.size, modifiedMs: Math.floor(found.ctimeMs)}
}

/** What comes by a pipe can be read once only, and has to be there again when an upload is resumed. */
const spool = async (stdin: Readable_) => {
  const folder = await mkdtemp(join(tmpdir(), 'lading-stdin-'))
  process.once('exit', () => rmSync(folder, {recursive: true, force: true}))
  const path = join(folder, 'stdin.csv')
  const digest = createHash('sha256')
  await pipeline(stdin, createWriteStream(path, {mode: 0o600}))
  for await (const chunk of createReadStream(path)) digest.update(chunk)
  return {path, digest: digest.digest('hex')}
}

/** Without the byte order mark that editors on Windows put first. */
export const withoutMark = (text: string) => text.replace(/^\ufeff/, '')

export const readJsonFile = async (path: string): Promise<Json> => {
  const text = await readFile(path, 'utf8').catch(error => {
    throw badFile(error.code === 'ENOENT' ? `There is no file ${path}` : `${path} cannot be read: ${error.message}`)
  })
  try {
    return JSON.parse(withoutMark(text))
  } catch (error) {
    throw badFile(`${path} is not JSON: ${(error as Error).message}`)
  }
}

/** Which file fills which slot: as it is said; by a name that is the slot's; or the last file for the last slot. */
export const fillSlots = (files: readonly LocalFile[], slots: readonly string[]): LocalFile[] => {
  const how = `Say which file fills which slot: ${slots.map(slot => `${slot}=FILE`).join(' ')}`
  const unknown = files.find(({slot}) => slot !== null && !slots.includes(slot))
  if (unknown) throw usage(`The template has no slot ${unknown.slot}`, how)
  if (files.length > slots.length) throw usage(`The template takes ${plural(slots.length, 'file')}, and these are ${files.length}`, how)
  const taken = new Set(files.map(({slot}) => slot))
  const named = files.map(file => {
    const stem = file.name.replace(/\.[^.]*$/, '').toLowerCase()
    const slot = file.slot ?? slots.find(one => one.toLowerCase() === stem && !taken.has(one)) ?? null
    if (slot !== null) taken.add(slot)
    return {...file, slot}
  })
  const left = slots.filter(slot => !taken.has(slot))
  const filled = named.map(file => (file.slot === null && left.length === 1 ? {...file, slot: left.shift()!} : file))
  if (filled.some(({slot}) => slot === null)) throw usage(`It is not clear which slot each of the files is for`, how)
  if (new Set(filled.map(({slot}) => slot)).size < filled.length) throw usage('Two files are for the same slot', how)
  if (left.length > 0) throw usage(`The template needs ${plural(slots.length, 'file')}, and none is for ${left.join(', ')}`, how)
  return filled
}

/** Flows as a file has them: a list, one, or under `flows`. Each says in `sourceId` which file it reads, where there are several. */
export const readFlows = async (path: string): Promise<Json[]> => {
  const read = await readJsonFile(path)
  if (Array.isArray(read?.sources))
    throw usage(`${path} is a template`, `Keep it with \`lading templates import ${path}\`, then import with --template`)
  const flows = Array.isArray(read) ? read : Array.isArray(read?.flows) ? read.flows : [read]
  if (flows.length === 0 || flows.some((flow: Json) => typeof flow?.module !== 'string'))
    throw usage(
      `${path} has no flows in it`,
      'A flow is {"module": "Leads", "fields": [{"field": "Last_Name", "mode": "column", "source": "name"}]}',
    )
  return flows
}

/** The same flows over files that are on the server: `ids` in the order of `files`. */
export const bindFlows = (flows: readonly Json[], files: readonly LocalFile[], ids: readonly string[]): Json[] =>
  flows.map((flow, at) => {
    const found = files.findIndex(file => [file.slot, file.name, file.name.replace(/\.[^.]*$/, '')].includes(flow.sourceId))
    const index = files.length === 1 ? 0 : found
    if (index < 0)
      throw usage(
        `Flow ${flow.id ?? at + 1} does not say which of the ${files.length} files it reads`,
        'Give it "sourceId": the name of the file, or what stands before = in NAME=FILE',
      )
    return {id: `f${at + 1}`, ...flow, sourceId: ids[index]}
  })
