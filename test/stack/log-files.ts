import fs from 'node:fs'
import {join} from 'node:path'
import type {Output} from './supervisor.ts'

/** Writes the lines of each process to its own file. A file of an earlier start is renamed to `NAME.log.1`. */
export const openLogFiles = (folder: string): Output => {
  fs.mkdirSync(folder, {recursive: true})
  const files = new Map<string, fs.WriteStream>()
  return (name, line) => {
    const known = files.get(name) ?? openFile(join(folder, `${name}.log`))
    files.set(name, known)
    known.write(`${line}\n`)
  }
}

const openFile = (path: string) => {
  if (fs.existsSync(path)) fs.renameSync(path, `${path}.1`)
  const file = fs.createWriteStream(path, {flags: 'a', mode: 0o600})
  file.on('error', error => console.error(`${path}: ${error.message}`))
  return file
}
