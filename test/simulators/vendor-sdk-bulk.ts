import * as sdk from '@zohocrm/nodejs-sdk-8.0'

/** Bulk calls of the SDK that `openSdk` configured. Uploads are missing, because the SDK sends them to a fixed host of the vendor. */
export const sdkBulk = {
  startRead: async (module: string, fields: string[]): Promise<string> => {
    const query = new sdk.BulkRead.Query()
    await query.setModule(await moduleOf(module))
    query.setFields(fields)
    const body = new sdk.BulkRead.BodyWrapper()
    await body.setQuery(query)
    const answer = await reads().createBulkReadJob(body)
    return String(answer.getObject().getData()[0].getDetails().get('id'))
  },
  checkRead: async (job: string) => {
    const [detail] = (await reads().getBulkReadJobDetails(BigInt(job))).getObject().getData()
    return {state: detail.getState().getValue(), count: detail.getResult()?.getCount() ?? null}
  },
  downloadRead: async (job: string) => bytesOf(await reads().downloadResult(BigInt(job))),
  startWrite: async (module: string, {fileId, findBy, fields}: {fileId: string; findBy: string; fields: string[]}): Promise<string> => {
    const resource = new sdk.BulkWrite.Resource()
    await resource.setModule(await moduleOf(module))
    resource.setType(new sdk.Choice('data'))
    resource.setFileId(fileId)
    resource.setFileNames(['rows.csv'])
    resource.setFindBy(findBy)
    resource.setFieldMappings(fields.map(mapField))
    const body = new sdk.BulkWrite.RequestWrapper()
    body.setOperation(new sdk.Choice('insert'))
    body.setResource([resource])
    const answer = await writes().createBulkWriteJob(body)
    return String(answer.getObject().getDetails().get('id'))
  },
  checkWrite: async (job: string) => {
    const detail = (await writes().getBulkWriteJobDetails(job)).getObject()
    const [resource] = detail.getResource()
    return {status: detail.getStatus(), added: resource.getFile().getAddedCount(), url: detail.getResult().getDownloadUrl()}
  },
  downloadWrite: async (url: string) => bytesOf(await writes().downloadBulkWriteResult(url.replace(/^\//, ''))),
}

const reads = () => new sdk.BulkRead.BulkReadOperations()
const writes = () => new sdk.BulkWrite.BulkWriteOperations()

const moduleOf = async (name: string) => {
  const module = new sdk.Modules.MinifiedModule()
  module.setAPIName(name)
  return module
}

const mapField = (name: string, index: number) => {
  const mapping = new sdk.BulkWrite.FieldMapping()
  mapping.setAPIName(name)
  mapping.setIndex(index)
  return mapping
}

/** Returns the bytes of a downloaded file. The SDK wraps its object in a promise. */
const bytesOf = async (answer: any): Promise<Buffer> => {
  const stream = (await answer.getObject()).getFile().getStream()
  return Buffer.isBuffer(stream) ? stream : Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>))
}
