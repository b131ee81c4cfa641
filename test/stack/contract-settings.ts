/** The folder of the vendor's OpenAPI documents. They have no licence, so they are not in this project. */
export const documentsFolder = process.env.CRM_OAS_DIR || null
/** The folder in which the CRM simulators of a test run record their exchanges. */
export const exchangesFolder = process.env.CRM_EXCHANGES || null
