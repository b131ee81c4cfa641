/** All German messages, by area. They are loaded together, because pages share parts of several areas. */
export {errors} from './errors.ts'
export {files} from './files.ts'
export {mapping} from './mapping.ts'
export {options} from './options.ts'
export {reading} from './reading.ts'
export {shell} from './shell.ts'
