import {execFile} from 'node:child_process'
import {existsSync, mkdirSync, readFileSync, symlinkSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Options that make the running Node report version 20. */
export const asNode20 = ['--import', `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.19.0'})`]

/**
 * Installs the package as `npm install` would, but without a network: unpacks the tarball, and links packages of the checkout. Returns the
 * path of the command.
 */
export const installPackage = async (folder: string, packages = packagesOfUsers()): Promise<string> => {
  const {stdout} = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {cwd: root})
  const home = join(folder, 'node_modules', 'lading')
  mkdirSync(home, {recursive: true})
  await run('tar', ['xzf', join(folder, stdout.trim()), '-C', home, '--strip-components', '1'])
  for (const name of packages) {
    mkdirSync(join(folder, 'node_modules', dirname(name)), {recursive: true})
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return join(home, 'api', 'clients', 'lading.js')
}

/** Lists the packages that npm installs for users on this platform: the locked ones that are not only for development. */
const packagesOfUsers = () => {
  const {packages} = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {packages: Record<string, {dev?: true}>}
  const names = Object.entries(packages).flatMap(([path, {dev}]) =>
    dev ? [] : (/^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? []),
  )
  return names.filter(name => existsSync(join(root, 'node_modules', name)))
}
