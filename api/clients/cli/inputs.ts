import {createHash} from 'node:crypto'
import {createReadStream, createWriteStream, rmSync} from 'node:fs'
import {mkdtemp, readFile, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {basename, join, resolve} from 'node:path'
import {pipeline} from 'node:stream/promises'
import type {Json} from '../http.ts'
import {badFile, usage} from './failure.ts'
import {plural} from './phrases.ts'

/**
 * A file to import, as it was when the command started. `slot` is the template slot, or the file's name in the flows. `modifiedMs` is the ctime,
 * which programs cannot set. Only standard input has a `digest`, because its temporary path differs each time.
 */
export type LocalFile = {path: string; name: string; slot: string | null; bytes: number; modifiedMs: number; digest?: string}

/** Reads the file arguments: `FILE`, `SLOT=FILE`, and `-` for standard input. An existing file whose name contains `=` takes precedence. */
export const readInputs = (given: readonly string[], stdin: Readable_ = process.stdin): Promise<LocalFile[]> => {
  if (given.filter(one => one === '-' || one.endsWith('=-')).length > 1) throw usage('Standard input can be used for one file only')
  return Promise.all(given.map(one => readInput(one, stdin)))
}

type Readable_ = NodeJS.ReadableStream

const readInput = async (given: string, stdin: Readable_): Promise<LocalFile> => {
  const [, slot, rest] = /^([A-Za-z0-9_-]{1,64})=(.+)$/s.exec(given) ?? []
  const isWhole = slot === undefined || (await stat(given).catch(() => null)) !== null
  const path = isWhole ? given : rest!
  if (path === '-') {
    const spooled = await spool(stdin)
    return {...(await describe(spooled.path, 'Standard input')), digest: spooled.digest, slot: isWhole ? null : slot!}
  }
  return {...(await describe(path)), slot: isWhole ? null : slot!}
}

const describe = async (path: string, said = path) => {
  const found = await stat(path).catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw badFile(`File not found: ${path}`, 'Check the path. Relative paths start at the current directory')
    if (error.code === 'EACCES') throw badFile(`No permission to read ${path}`, 'Change the permissions, or run the command as its owner')
    throw error
  })
  if (!found.isFile()) throw badFile(`${path} is not a file`, found.isDirectory() ? 'List its files one by one' : undefined)
  if (found.size === 0) throw badFile(`${said} is empty`, 'The file needs a header row with column names, and rows below')
  return {path: resolve(path), name: basename(path).replaceAll(/\p{Cc}/gu, ' '), bytes: found.size, modifiedMs: Math.floor(found.ctimeMs)}
}

/** Copies standard input to a temporary file, because an upload needs the size first and reads failed parts again. Also returns its SHA-256. */
const spool = async (stdin: Readable_) => {
  const folder = await mkdtemp(join(tmpdir(), 'lading-stdin-'))
  process.once('exit', () => rmSync(folder, {recursive: true, force: true}))
  const path = join(folder, 'stdin.csv')
  const digest = createHash('sha256')
  await pipeline(stdin, createWriteStream(path, {mode: 0o600}))
  for await (const chunk of createReadStream(path)) digest.update(chunk)
  return {path, digest: digest.digest('hex')}
}

/** Removes a byte order mark, as written by Windows editors. */
export const withoutMark = (text: string) => text.replace(/^\ufeff/, '')

export const readJsonFile = async (path: string): Promise<Json> => {
  const text = await readFile(path, 'utf8').catch(error => {
    throw badFile(error.code === 'ENOENT' ? `File not found: ${path}` : `Could not read ${path}: ${error.message}`)
  })
  let read: Json
  try {
    read = JSON.parse(withoutMark(text))
  } catch (error) {
    throw badFile(`${path} is not JSON: ${(error as Error).message}`)
  }
  if (typeof read !== 'object' || read === null) throw badFile(`${path} holds no JSON object or list`)
  return read
}

/** Assigns each file to a slot: the given slot, else the slot with the file's name. The last unassigned file gets the last free slot. */
export const fillSlots = (files: readonly LocalFile[], slots: readonly string[]): LocalFile[] => {
  const how = `Assign the files to slots: ${slots.map(slot => `${slot}=FILE`).join(' ')}`
  const unknown = files.find(({slot}) => slot !== null && !slots.includes(slot))
  if (unknown) throw usage(`The template has no slot ${unknown.slot}`, how)
  if (files.length > slots.length) throw usage(`The template takes ${plural(slots.length, 'file')}, but ${files.length} were given`, how)
  const taken = new Set(files.map(({slot}) => slot))
  const named = files.map(file => {
    const stem = file.name.replace(/\.[^.]*$/, '').toLowerCase()
    const slot = file.slot ?? slots.find(one => one.toLowerCase() === stem && !taken.has(one)) ?? null
    if (slot !== null) taken.add(slot)
    return {...file, slot}
  })
  const left = slots.filter(slot => !taken.has(slot))
  const filled = named.map(file => (file.slot === null && left.length === 1 ? {...file, slot: left.shift()!} : file))
  if (filled.some(({slot}) => slot === null)) throw usage('The files cannot be assigned to slots automatically', how)
  if (new Set(filled.map(({slot}) => slot)).size < filled.length) throw usage('Two files are assigned to the same slot', how)
  if (left.length > 0) throw usage(`The template needs ${plural(slots.length, 'file')}. Missing: ${left.join(', ')}`, how)
  return filled
}

/** Reads flows from a list, a single flow, or the key `flows`. With several files, each flow names its file in `sourceId`. */
export const readFlows = async (path: string): Promise<Json[]> => {
  const read = await readJsonFile(path)
  if (Array.isArray(read.sources))
    throw usage(`${path} is a template`, `Save it with \`lading templates import ${path}\`, then import with --template`)
  const flows = Array.isArray(read) ? read : Array.isArray(read.flows) ? read.flows : [read]
  if (flows.length === 0 || flows.some((flow: Json) => typeof flow?.module !== 'string'))
    throw usage(
      `${path} contains no flows`,
      'A flow is {"module": "Leads", "fields": [{"field": "Last_Name", "mode": "column", "source": "name"}]}',
    )
  return flows
}

/**
 * Replaces each flow's `sourceId` by the id of its file. `ids` has the order of `files`. With one file, all flows read that file. Throws if a flow
 * does not name exactly one file, or if no flow reads a file.
 */
export const bindFlows = (flows: readonly Json[], files: readonly LocalFile[], ids: readonly string[]): Json[] => {
  const read = flows.map((flow, at) => {
    const fitting = files.length === 1 ? files : filesNamed(String(flow.sourceId), files)
    const [file, another] = fitting
    if (!file || another)
      throw usage(
        `Flow ${flow.id ?? at + 1} ${another ? `names ${fitting.length}` : 'does not name one'} of the ${files.length} files`,
        'Set its "sourceId" to the name of the file, or to NAME from NAME=FILE',
      )
    return file
  })
  const unread = files.find(file => !read.includes(file))
  if (unread) throw usage(`No flow reads ${unread.name}`, 'Leave the file out, or add a flow whose "sourceId" names it')
  return flows.map((flow, at) => ({id: `f${at + 1}`, ...flow, sourceId: ids[files.indexOf(read[at]!)]}))
}

/** Returns the files with this slot. If there are none, returns those with this name, else those with this name without its extension. */
const filesNamed = (named: string, files: readonly LocalFile[]): readonly LocalFile[] =>
  [({slot}: LocalFile) => slot, ({name}: LocalFile) => name, ({name}: LocalFile) => name.replace(/\.[^.]*$/, '')]
    .map(nameOf => files.filter(file => nameOf(file) === named))
    .find(({length}) => length > 0) ?? []
