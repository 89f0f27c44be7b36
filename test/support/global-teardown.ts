import { stopServices } from './services';

export default stopServices;
