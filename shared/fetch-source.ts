export {type SourceCode, SourceFailure} from './fetch-source/failure.ts'
export {type Fetched, fetchSource} from './fetch-source/fetch.ts'
export {fillPlaceholders} from './fetch-source/placeholders.ts'
export {
  type Described,
  describeSource,
  mergeCredentials,
  openSource,
  replaceLost,
  type SealedSource,
  sealSource,
} from './fetch-source/sealed.ts'
export {FileSource, SourceChange} from './fetch-source/source.ts'
