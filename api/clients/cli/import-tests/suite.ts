import {existsSync} from 'node:fs'
import {glob, readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {Json} from '../../http.ts'
import {readFiles} from '../config-directory.ts'
import {bundleOf} from '../config-files.ts'
import {discoveryFile, parseDiscovery} from '../discovery-file.ts'
import {usage} from '../failure.ts'
import {type ImportCase, parseCases} from './case.ts'

/** A folder with a pulled configuration, its discovery and the cases below `tests/`. */
export type Suite = {directory: string; connections: Json[]; bundle: Json; cases: ImportCase[]}

/** Reads the folder. If it has no discovery file, reads each direct subfolder that has one. Throws if there is no case. */
export const readSuites = async (directory: string): Promise<Suite[]> => {
  const folders = existsSync(join(directory, discoveryFile)) ? [directory] : await foldersBelow(directory)
  if (folders.length === 0)
    throw usage(`${directory} has no ${discoveryFile}`, `Pull the configuration with its discovery: lading config pull ${directory}`)
  const suites = await Promise.all(folders.map(readSuite))
  if (suites.every(({cases}) => cases.length === 0))
    throw usage(`${directory} has no cases`, `Write one to ${join(folders[0]!, 'tests', 'first.yaml')}. See: lading test --help`)
  return suites
}

const foldersBelow = async (directory: string): Promise<string[]> => {
  const found = await readdir(directory, {withFileTypes: true}).catch(() => [])
  const folders = found.filter(entry => entry.isDirectory() && entry.name !== 'node_modules').map(({name}) => join(directory, name))
  return folders.filter(folder => existsSync(join(folder, discoveryFile))).sort()
}

const readSuite = async (directory: string): Promise<Suite> => {
  const {connections} = parseDiscovery(join(directory, discoveryFile), await readFile(join(directory, discoveryFile), 'utf8'))
  const files = await readFiles(directory)
  const bundle = bundleOf(files, {registry: files.has('settings.json'), wanted: new Set(files.keys())})
  const paths = (await Array.fromAsync(glob('tests/**/*.{yaml,yml}', {cwd: directory}))).sort().map(path => join(directory, path))
  const cases = await Promise.all(paths.map(async path => parseCases(path, await readFile(path, 'utf8'))))
  return {directory, connections, bundle, cases: cases.flat()}
}
